//! A policy's state as a file.

use std::io::Read as _;
use std::path::Path;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode, LONGEST_STATE};

use super::file;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{ExportedState, ReplacedState};

pub(super) async fn get(daemon: &Daemon, network: &str) -> Result<v1::GetPolicyStateResponse, Error> {
    let request = v1::GetPolicyStateRequest { network: network.to_owned() };
    daemon.call(async |mut admin| admin.get_policy_state(request).await).await
}

/// Writes the state to a file, or to standard output.
pub(super) async fn export(daemon: &Daemon, network: String, path: &Path) -> Result<Report, Error> {
    let answer = get(daemon, &network).await?;
    let none = || {
        let cause = format_args!("no policy has kept a state on network {network}");
        Error::new(ErrorCode::StateNotKept, cause)
    };
    let state = answer.now.ok_or_else(none)?;
    if path == Path::new("-") {
        return Ok(Report::Raw(state.state));
    }
    std::fs::write(path, &state.state).map_err(|error| file::unreadable(path, &error))?;
    Ok(Report::of(ExportedState { network, state, file: path.to_owned() }))
}

/// Replaces the state by a file's contents, or by standard input.
pub(super) async fn import(
    daemon: &Daemon,
    network: String,
    path: &Path,
    if_version: Option<u64>,
    reason: String,
) -> Result<Report, Error> {
    let state = read(path)?;
    if state.len() > LONGEST_STATE {
        let cause =
            format_args!("{}: it is longer than {LONGEST_STATE} bytes, the limit of a state", path.display());
        return Err(Error::new(ErrorCode::StateNotKept, cause));
    }
    let request = v1::ReplacePolicyStateRequest { network: network.clone(), state, if_version, reason };
    let answer = daemon.call(async |mut admin| admin.replace_policy_state(request).await).await?;
    Ok(Report::of(ReplacedState { network, answer }))
}

/// Reads at most a byte more than a state may have.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let most = LONGEST_STATE as u64 + 1;
    let read = match path == Path::new("-") {
        true => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
    };
    read.map(|_| bytes).map_err(|error| file::unreadable(path, &error))
}
