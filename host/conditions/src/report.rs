//! How a part reports its condition.

use std::sync::Arc;

use tenure_types::ConditionName;

use crate::Conditions;

/// A condition on the node's list, for the part that sets and clears it.
#[derive(Clone)]
pub struct Report {
    conditions: Arc<Conditions>,
    name: ConditionName,
}

impl Report {
    /// Reports on `name`, which no other part sets.
    #[must_use]
    pub fn new(conditions: &Arc<Conditions>, name: ConditionName) -> Self {
        Self { conditions: Arc::clone(conditions), name }
    }

    /// Clears the condition.
    pub fn well(&self) {
        self.conditions.clear(self.name, "");
    }

    /// Sets the condition, with what is wrong.
    pub fn wrong(&self, message: impl Into<String>) {
        self.conditions.set(self.name, "", message);
    }

    /// Sets the condition for each of these subjects, with its message, and clears it for all others.
    pub fn wrong_with(&self, now: impl IntoIterator<Item = (String, String)>) {
        self.conditions.replace(self.name, now);
    }
}
