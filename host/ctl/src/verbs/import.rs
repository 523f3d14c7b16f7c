//! `tenurectl import`: reads the state of another IPAM plugin, sends it to the daemon, and reports the outcome of each entry.
//!
//! The files are only read: the other plugin may still be running and must keep its state. A file or row without an address is
//! reported and left out; the ledger decides about the rest. Entries are streamed in parts, each answered in turn, so an import may
//! have any size.

mod dry_run;
mod found;
pub(super) mod host_local;
pub(super) mod ipamd;

use std::collections::BTreeSet;
use std::path::Path;

use tenure_rpc::host_local::HOST_LOCAL_NETWORK;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode, NetworkName};

pub(super) use self::dry_run::ImportDryRun;
use self::found::Found;
use super::config;
use super::file::unreadable;
use crate::arguments::ImportSource;
use crate::daemon::Daemon;
use crate::exit::Exit;
use crate::render::Report;
use crate::report::{AbandonedImport, FoundAttachment, ImportReport, Judged};

/// The number of entries in a message.
const IN_A_PART: usize = 2048;

/// Imports from a source.
pub(super) async fn import(daemon: &Daemon, source: &ImportSource, apply: bool) -> Result<Report, Error> {
    let (found, source, config) = match source {
        ImportSource::HostLocal { directory, interface, of, network, config } => {
            let found = match (of, network.as_ref().or(of.as_ref())) {
                (Some(of), Some(network)) => {
                    host_local::read_one(directory, of.as_str(), network.as_str(), interface)
                }
                _ => host_local::read(directory, interface),
            };
            let source = match of.as_ref().filter(|of| network.as_ref().is_some_and(|network| network != *of))
            {
                // The daemon goes on comparing the network with what is there.
                Some(of) => format!("{HOST_LOCAL_NETWORK} {}", absolute(&directory.join(of.as_str()))?),
                None => format!("host-local {}", absolute(directory)?),
            };
            (found, source, config)
        }
        ImportSource::Abandon { network, source, reason } => {
            let request = v1::AbandonImportRequest {
                network: network.clone(),
                source: source.clone().unwrap_or_default(),
                reason: reason.clone().unwrap_or_default(),
                apply,
            };
            let answer = daemon.call(async |mut admin| admin.abandon_import(request).await).await?;
            return Ok(Report::of(AbandonedImport { network: network.clone(), applied: apply, answer }));
        }
        ImportSource::Ipamd { file, network, config } => {
            let found = ipamd::read(file, network.as_deref());
            (found, format!("ipamd {}", absolute(file)?), config)
        }
    };
    let Found { entries, networks, passed_over } = found?;
    let empty = unfinished(daemon, networks, &entries).await?;
    let config = config.file.as_deref().map(config::read).transpose()?;
    if let Some((network, _)) = &config
        && entries.iter().all(|entry| entry.network != *network)
        && !empty.contains(network)
    {
        let cause =
            format_args!("found nothing to import for network {network}, which the configuration defines");
        return Err(Error::new(ErrorCode::InvalidConfig, cause));
    }
    let mut import = ImportReport { applied: apply, judged: Vec::new(), passed_over, failures: Vec::new() };
    let (mut failures, mut is_answered, mut silence) = (Vec::new(), false, None::<Error>);
    let with_entries = entries.chunk_by(|one, next| one.network == next.network);
    let with_entries = with_entries.filter_map(|of| Some((of.first()?.network.clone(), of)));
    for (network, own) in with_entries.chain(empty.into_iter().map(|name| (name, &[][..]))) {
        let config = config.as_ref().filter(|(name, _)| *name == network).map(|(_, text)| text.clone());
        let head = v1::ImportHead {
            network: network.clone(),
            config: config.unwrap_or_default(),
            apply,
            source: source.clone(),
            // Neither plugin gives an address to two owners at once.
            exclusive: true,
            entries: own.len() as u64,
        };
        let (mut outcomes, failure) = match &silence {
            Some(error) => (Vec::new(), Some(error.clone())),
            None => judged(daemon, head, own).await,
        };
        is_answered |= failure.is_none() || !outcomes.is_empty();
        if let Some(error) = failure {
            // The other networks can still be imported.
            let refused =
                v1::ImportOutcome { outcome: "refused".to_owned(), reason: reason(&network, &error) };
            outcomes.resize(own.len(), refused);
            match error.code {
                ErrorCode::UnknownNetwork => is_answered = true,
                _ if silence.is_none() => {
                    silence = (Exit::of(error.code) == Exit::Unreachable).then(|| error.clone());
                    failures.push((network, error));
                }
                _ => {}
            }
        }
        let judged = own.iter().cloned().zip(outcomes);
        import.judged.extend(judged.map(|(entry, outcome)| Judged { entry, outcome }));
    }
    match failures.as_slice() {
        // There is nothing to report but the error.
        [(_, only)] if !is_answered => Err(only.clone()),
        _ => {
            import.failures =
                failures.into_iter().map(|(network, error)| of_network(&network, error)).collect();
            Ok(Report::of(import))
        }
    }
}

/// The reason for which the entries of a network were not imported.
fn reason(network: &str, error: &Error) -> String {
    match error.code {
        // A configuration for such a name is refused as well.
        ErrorCode::UnknownNetwork if NetworkName::new(network).is_err() => error.cause.clone(),
        ErrorCode::UnknownNetwork => format!("{}; pass its configuration with --config", error.cause),
        code => format!("{}: {}", code.name(), error.cause),
    }
}

/// An error that names its network.
fn of_network(network: &str, error: Error) -> Error {
    Error { cause: format!("network {network}: {}", error.cause), ..error }
}

/// The networks of the source that have no entries any more, and an import that has not ended: it may end with nothing.
async fn unfinished(
    daemon: &Daemon,
    mut networks: BTreeSet<String>,
    entries: &[FoundAttachment],
) -> Result<BTreeSet<String>, Error> {
    entries.iter().for_each(|entry| _ = networks.remove(&entry.network));
    if networks.is_empty() {
        return Ok(networks);
    }
    let request = v1::ListNetworksRequest {};
    let listed = daemon.call(async |mut admin| admin.list_networks(request).await).await?;
    let unfinished =
        listed.networks.into_iter().filter(|network| network.importing).map(|network| network.name);
    let unfinished: BTreeSet<String> = unfinished.collect();
    Ok(networks.intersection(&unfinished).cloned().collect())
}

/// Sends a network's entries to the daemon in parts, and returns their outcomes, as far as there are some, and why there are no more.
async fn judged(
    daemon: &Daemon,
    head: v1::ImportHead,
    entries: &[FoundAttachment],
) -> (Vec<v1::ImportOutcome>, Option<Error>) {
    let mut outcomes = Vec::with_capacity(entries.len());
    let failure = send(daemon, head, entries, &mut outcomes).await.err();
    let are_all = outcomes.len() == entries.len();
    let failure = failure.or_else(|| {
        let cause = format_args!("the daemon answered only {} of {} entries", outcomes.len(), entries.len());
        (!are_all).then(|| Error::new(ErrorCode::Unreachable, cause))
    });
    (outcomes, failure)
}

async fn send(
    daemon: &Daemon,
    head: v1::ImportHead,
    entries: &[FoundAttachment],
    outcomes: &mut Vec<v1::ImportOutcome>,
) -> Result<(), Error> {
    let part = |part: &[FoundAttachment]| v1::ImportPart {
        entries: part.iter().map(|entry| entry.entry.clone()).collect(),
        ..v1::ImportPart::default()
    };
    let mut parts: Vec<_> = entries.chunks(IN_A_PART).map(part).collect();
    if parts.is_empty() {
        parts.push(v1::ImportPart::default());
    }
    if let Some(first) = parts.first_mut() {
        first.head = Some(head);
    }
    let mut answer =
        daemon.call(async |mut admin| admin.import_all(futures_util::stream::iter(parts)).await).await?;
    while let Some(part) = daemon.next(&mut answer).await? {
        outcomes.extend(part.outcomes);
    }
    Ok(())
}

/// The canonical form of a path, so that a later import recognises the same source.
fn absolute(path: &Path) -> Result<String, Error> {
    let path = std::fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    Ok(path.display().to_string())
}
