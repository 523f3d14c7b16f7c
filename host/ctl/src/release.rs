//! `tenurectl release`: an operator's word that nobody uses an address any more.

use tenure_rpc::v1;
use tenure_types::Error;

use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::{Outcome, json, render};

/// Says what would be released, or releases it.
pub(crate) async fn run(daemon: &Daemon, request: v1::ReleaseRequest) -> Result<Outcome, Error> {
    let (address, applied) = (request.address.clone(), request.apply);
    let answer = daemon.call(async |mut admin| admin.release(request).await).await?;
    let exit = if answer.outcome == "kept" { Exit::Problems } else { Exit::Done };
    let text = render::release(&address, applied, &answer);
    Ok(Outcome { text, json: json::release(applied, &answer), exit })
}
