//! How a part reports its condition.

use std::sync::Arc;

use tenure_engine::Conditions;
use tenure_types::ConditionName;

/// A condition on the node's list, for the part that sets and clears it.
#[derive(Clone)]
pub(crate) struct Report {
    conditions: Arc<Conditions>,
    name: ConditionName,
}

impl Report {
    pub(crate) fn new(conditions: &Arc<Conditions>, name: ConditionName) -> Self {
        Self { conditions: Arc::clone(conditions), name }
    }

    /// Clears the condition.
    pub(crate) fn well(&self) {
        self.conditions.clear(self.name, "");
    }

    /// Sets the condition, with what is wrong.
    pub(crate) fn wrong(&self, message: impl Into<String>) {
        self.conditions.set(self.name, "", message);
    }

    /// Sets the condition for each of these subjects, with its message, and clears it for all others.
    pub(crate) fn wrong_with(&self, now: impl IntoIterator<Item = (String, String)>) {
        self.conditions.replace(self.name, now);
    }
}
