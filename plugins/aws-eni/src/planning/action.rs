//! The steps of a plan, and the effects that the host gets of them.

use tenure_sdk::{Effect, EffectKind};

use crate::names::{ADDRESSES, COUNT, INTERFACES, PREFIXES, RANGE, REASON, SUBNET};
use crate::supply::Unit;

/// The longest reason, in bytes: that of an attribute's value.
const LONGEST: usize = 512;

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Assigns addresses or prefixes to an interface.
    Assign { interface: String, unit: Unit, count: u32 },
    /// Attaches an interface with so many of them.
    Attach { subnet: Option<String>, unit: Unit, count: u32 },
    /// Detaches an interface, with all that is on it.
    Detach { interface: String },
    /// Releases a range.
    Release { range: String, unit: Unit },
}

/// A step and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) step: Step,
    pub(super) reason: String,
}

impl Action {
    /// The effect on a pool.
    pub(super) fn effect(self, pool: u32) -> Effect {
        let effect = match self.step {
            Step::Assign { interface, unit, count } => {
                let kind = match unit {
                    Unit::Address => EffectKind::AssignAddress,
                    Unit::Prefix => EffectKind::AssignPrefix,
                };
                Effect::new(kind, pool).with(INTERFACES, interface).with(COUNT, count.to_string())
            }
            Step::Attach { subnet, unit, count } => {
                let what = match unit {
                    Unit::Address => ADDRESSES,
                    Unit::Prefix => PREFIXES,
                };
                let effect = Effect::new(EffectKind::AttachInterface, pool).with(what, count.to_string());
                subnet.into_iter().fold(effect, |effect, subnet| effect.with(SUBNET, subnet))
            }
            Step::Detach { interface } => {
                Effect::new(EffectKind::DetachInterface, pool).with(INTERFACES, interface)
            }
            Step::Release { range, unit } => {
                let kind = match unit {
                    Unit::Address => EffectKind::ReleaseAddress,
                    Unit::Prefix => EffectKind::ReleasePrefix,
                };
                Effect::new(kind, pool).with(RANGE, range)
            }
        };
        let reason: String = self.reason.chars().filter(char::is_ascii).take(LONGEST).collect();
        effect.with(REASON, reason)
    }
}
