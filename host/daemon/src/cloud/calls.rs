//! Cost and results of calls: budgets, back-offs, and counters.

use tenure_aws::executor::Status;
use tenure_rpc::v1;

use super::milliseconds;

/// The fields about calls; the others are empty.
pub(super) fn calls(status: &Status) -> v1::GetCloudResponse {
    v1::GetCloudResponse {
        rates: status
            .rates
            .iter()
            .map(|(call, rate)| v1::CloudRate {
                call: (*call).to_owned(),
                tokens: rate.tokens,
                per_second: f64::from(u32::try_from(rate.rate).unwrap_or(u32::MAX)) / 1000.0,
                wait_ms: milliseconds(rate.wait),
            })
            .collect(),
        back_offs: status
            .backoffs
            .iter()
            .map(|(subnet, unit, left)| v1::CloudBackOff {
                subnet: subnet.clone(),
                unit: unit.name().to_owned(),
                left_ms: milliseconds(*left),
            })
            .collect(),
        barred: status
            .barred
            .iter()
            .map(|barred| v1::CloudBar {
                call: barred.call.to_owned(),
                subnet: barred.subnet.clone().unwrap_or_default(),
                reason: barred.why.clone(),
                left_ms: milliseconds(barred.left),
            })
            .collect(),
        calls: status
            .calls
            .iter()
            .map(|((call, outcome), count)| v1::CloudCalls {
                call: (*call).to_owned(),
                outcome: (*outcome).to_owned(),
                count: *count,
            })
            .collect(),
        ends: status
            .ends
            .iter()
            .map(|((kind, outcome), count)| v1::CloudEnds {
                kind: (*kind).to_owned(),
                outcome: (*outcome).to_owned(),
                count: *count,
            })
            .collect(),
        ..v1::GetCloudResponse::default()
    }
}
