//! Grants of the operator to a policy besides addresses: worlds, effects, and limits of a call.
//!
//! Grants belong to a name. All versions of a policy share them, and a reload replaces them: they are behind a
//! `std::sync::RwLock`, held to copy an `Arc`.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use tenure_types::{EffectKind, hold_exclusive, hold_shared};

use super::limits::CallLimits;

/// The rights and limits of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// Whether it may plan, if it exports the world `planner`.
    pub planner: bool,
    /// Whether it may keep state, if it exports the world `stateful`.
    pub stateful: bool,
    /// The effects that its plans may contain.
    pub effects: Vec<EffectKind>,
    /// The names of labels and annotations that its requests contain, such as `pod.label.app`.
    pub metadata: Vec<String>,
    /// The processor time of a call, if less than the sandbox's own.
    pub deadline: Option<Duration>,
    /// The memory of a call in bytes, if less than the sandbox's own.
    pub memory: Option<usize>,
    /// Whether it may serve without passing the conformance suite, where no operator has named it.
    pub unchecked: bool,
}

impl Default for Grants {
    /// Everything that needs no further word of the operator: no effects, no labels.
    fn default() -> Self {
        Self {
            planner: true,
            stateful: true,
            effects: Vec::new(),
            metadata: Vec::new(),
            deadline: None,
            memory: None,
            unchecked: false,
        }
    }
}

impl Grants {
    /// Whether they set limits of their own.
    pub(crate) fn narrows(&self) -> bool {
        self.deadline.is_some() || self.memory.is_some()
    }

    /// The sandbox's limits, narrowed.
    #[must_use]
    pub fn narrow(&self, limits: &CallLimits) -> CallLimits {
        CallLimits {
            deadline: self.deadline.map_or(limits.deadline, |deadline| deadline.min(limits.deadline)),
            memory: self.memory.map_or(limits.memory, |memory| memory.min(limits.memory)),
            ..limits.clone()
        }
    }
}

/// The present grants of a name.
#[derive(Debug, Default)]
pub(crate) struct Granted(RwLock<Arc<Grants>>);

impl Granted {
    /// The present grants.
    pub(crate) fn get(&self) -> Arc<Grants> {
        Arc::clone(&hold_shared(&self.0))
    }

    /// Replaces them; calls in progress keep the old ones.
    pub(crate) fn set(&self, grants: Grants) {
        *hold_exclusive(&self.0) = Arc::new(grants);
    }
}
