//! What a part says is wrong with itself.

use std::sync::Arc;

use tenure_engine::Conditions;
use tenure_types::ConditionName;

/// One condition of the node's list, and the part that answers for it.
#[derive(Clone)]
pub(crate) struct Report {
    conditions: Arc<Conditions>,
    name: ConditionName,
}

impl Report {
    pub(crate) fn new(conditions: &Arc<Conditions>, name: ConditionName) -> Self {
        Self { conditions: Arc::clone(conditions), name }
    }

    /// Says that nothing is wrong, or no longer.
    pub(crate) fn well(&self) {
        self.conditions.clear(self.name, "");
    }

    /// Says what is wrong.
    pub(crate) fn wrong(&self, message: impl Into<String>) {
        self.conditions.set(self.name, "", message);
    }

    /// Says what is wrong with each of several things, and that nothing is with any other.
    pub(crate) fn wrong_with(&self, now: impl IntoIterator<Item = (String, String)>) {
        self.conditions.replace(self.name, now);
    }
}
