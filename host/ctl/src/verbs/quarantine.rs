//! `tenurectl quarantine`.

use tenure_rpc::v1;
use tenure_types::Error;

use crate::arguments::QuarantineVerb;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{AddedToQuarantine, LiftedQuarantine};

pub(super) async fn quarantine(daemon: &Daemon, verb: QuarantineVerb) -> Result<Report, Error> {
    match verb {
        QuarantineVerb::List { network } => {
            let request = v1::ListQuarantineRequest { network: network.unwrap_or_default() };
            daemon.call(async |mut admin| admin.list_quarantine(request).await).await.map(Report::of)
        }
        QuarantineVerb::Add { address, network, reason } => {
            let request = v1::QuarantineAddressRequest {
                network: network.clone(),
                address: address.to_string(),
                reason,
            };
            let answer = daemon.call(async |mut admin| admin.quarantine_address(request).await).await?;
            Ok(Report::of(AddedToQuarantine { address, network, answer }))
        }
        QuarantineVerb::Lift { address, network, reason } => {
            let request = v1::LiftQuarantineRequest {
                address: address.to_string(),
                network: network.unwrap_or_default(),
                reason: reason.unwrap_or_default(),
            };
            let answer = daemon.call(async |mut admin| admin.lift_quarantine(request).await).await?;
            Ok(Report::of(LiftedQuarantine { address, answer }))
        }
    }
}
