//! The steps of a plan, and the effects that the host gets of them.

use tenure_sdk::{Effect, EffectKind};

use crate::names::{ADDRESSES, COUNT, INTERFACES, PREFIXES, RANGE, REASON, SUBNET};
use crate::supply::RangeUnit;

/// The longest reason, in bytes: that of an attribute's value.
const LONGEST: usize = 512;

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlanStep {
    /// Assigns addresses or prefixes to an interface.
    Assign { interface: String, unit: RangeUnit, count: u32 },
    /// Attaches an interface with so many of them.
    Attach { subnet: Option<String>, unit: RangeUnit, count: u32 },
    /// Detaches an interface, with all that is on it.
    Detach { interface: String },
    /// Releases a range.
    Release { range: String, unit: RangeUnit },
}

/// A step and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) step: PlanStep,
    pub(super) reason: String,
}

impl Action {
    /// The effect on a pool.
    pub(super) fn effect(self, pool: u32) -> Effect {
        let effect = match self.step {
            PlanStep::Assign { interface, unit, count } => {
                let kind = match unit {
                    RangeUnit::Address => EffectKind::AssignAddress,
                    RangeUnit::Prefix => EffectKind::AssignPrefix,
                };
                Effect::new(kind, pool).with(INTERFACES, interface).with(COUNT, count.to_string())
            }
            PlanStep::Attach { subnet, unit, count } => {
                let what = match unit {
                    RangeUnit::Address => ADDRESSES,
                    RangeUnit::Prefix => PREFIXES,
                };
                let effect = Effect::new(EffectKind::AttachInterface, pool).with(what, count.to_string());
                subnet.into_iter().fold(effect, |effect, subnet| effect.with(SUBNET, subnet))
            }
            PlanStep::Detach { interface } => {
                Effect::new(EffectKind::DetachInterface, pool).with(INTERFACES, interface)
            }
            PlanStep::Release { range, unit } => {
                let kind = match unit {
                    RangeUnit::Address => EffectKind::ReleaseAddress,
                    RangeUnit::Prefix => EffectKind::ReleasePrefix,
                };
                Effect::new(kind, pool).with(RANGE, range)
            }
        };
        let reason: String = self.reason.chars().filter(char::is_ascii).take(LONGEST).collect();
        effect.with(REASON, reason)
    }
}
