//! Conditions, which keep the time of their last change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::writes::WriteTime;

/// A condition to write.
#[derive(Debug)]
pub(super) struct WantedCondition<'a> {
    pub(super) name: &'a str,
    pub(super) is_true: bool,
    pub(super) reason: &'a str,
    pub(super) message: String,
}

/// Makes a condition from the one that is there.
pub(super) fn condition(
    old: &[Condition],
    wanted: WantedCondition<'_>,
    generation: i64,
    now: WriteTime,
) -> Condition {
    let status = if wanted.is_true { "True" } else { "False" };
    let same = old.iter().find(|old| old.type_ == wanted.name && old.status == status);
    Condition {
        type_: wanted.name.to_owned(),
        status: status.to_owned(),
        reason: wanted.reason.to_owned(),
        message: wanted.message,
        observed_generation: Some(generation),
        last_transition_time: same.map_or(Time(now.day), |same| same.last_transition_time.clone()),
    }
}
