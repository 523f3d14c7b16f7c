//! The figures for scrapers.

use std::collections::BTreeMap;

use tenure_aws::executor::Status;
use tenure_observe::CloudFigures;
use tenure_rpc::v1;

use super::interfaces::{CloudStock, interfaces};

/// The states of interfaces, each of which is shown, also at zero.
const STANDINGS: [&str; 3] = ["confirmed", "doubtful", "gone"];

/// Counts an executor's facts for metrics.
pub(super) fn figures(status: &Status, stock: &CloudStock) -> CloudFigures {
    let interfaces = interfaces(status, stock);
    let mut standings: BTreeMap<&'static str, u64> = STANDINGS.map(|name| (name, 0)).into();
    for interface in &status.interfaces {
        *standings.entry(interface.standing.name()).or_default() += 1;
    }
    let ranges = || interfaces.iter().flat_map(|interface| &interface.carries);
    let sum = |of: fn(&v1::CloudRange) -> u64| ranges().map(of).fold(0, u64::saturating_add);
    CloudFigures {
        calls: status.calls.iter().map(|((call, outcome), count)| (*call, *outcome, *count)).collect(),
        intents: status.ends.iter().map(|((kind, outcome), count)| (*kind, *outcome, *count)).collect(),
        interfaces: standings.into_iter().collect(),
        addresses: vec![
            ("held", sum(|range| range.held)),
            ("cooling", sum(|range| range.cooling)),
            ("free", sum(|range| range.free)),
        ],
        open: status.intents.len(),
        quarantined: status.quarantine.len(),
        refused: status.plan.as_ref().map_or(0, |plan| plan.refused.len()),
        confirmed_age: status.confirmed.map(|at| status.now.saturating_sub(at)),
    }
}
