//! `tenurectl status`, and waiting for a node to serve.

use std::time::Duration;

use tenure_rpc::v1;
use tenure_types::Error;

use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::{Outcome, json, render};

/// How soon a waiting caller asks again.
const AGAIN: Duration = Duration::from_millis(100);

/// Asks once, or until the node serves or the time is over; then what was said last counts.
pub(crate) async fn ask(daemon: &Daemon, wait: Option<Duration>) -> Result<Outcome, Error> {
    let mut last = once(daemon).await;
    let over = tokio::time::sleep(wait.unwrap_or_default());
    tokio::pin!(over);
    while !last.as_ref().is_ok_and(|outcome| outcome.exit == Exit::Done) {
        let next = async {
            tokio::time::sleep(AGAIN).await;
            once(daemon).await
        };
        tokio::select! {
            biased;
            () = &mut over => break,
            next = next => last = next,
        }
    }
    last
}

async fn once(daemon: &Daemon) -> Result<Outcome, Error> {
    let answer = daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await?;
    let exit = if answer.state == "not-ready" { Exit::Problems } else { Exit::Done };
    Ok(Outcome { text: render::status(&answer, render::now_ms()), json: json::status(&answer), exit })
}
