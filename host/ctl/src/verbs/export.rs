//! `tenurectl export`: exports a network's allocations for another IPAM, which takes them over.
//!
//! It reads the state directory of a daemon that has stopped, and keeps its lock: what the file lacks nobody can allocate meanwhile.

mod complete;
mod former;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use tenure_checkpoint::{BootSource, FileDisk, Lock, LockError, Mark, boot_id, parse_boot_id, recover_after};
use tenure_ledger::{Book, Moves};
use tenure_types::{Allocation, AssignedAddress, BootId, Error, ErrorCode, NetworkName, Owner};

use self::former::FormerExport;
use super::file::{self, unreadable};
use super::ipamd::{Checkpoint, Metadata, Row, VERSION};
use crate::arguments::ExportTarget;
use crate::clock;
use crate::render::Report;
use crate::report::{Export, PassedOver};

/// Writes the file of a target. The run directory tells whether the state is complete.
///
/// # Errors
/// `InputOutput` if the state is not complete, or if it or the file cannot be used, `NotTakenOver` if it lacks pods that another IPAM has, and
/// `UnknownNetwork`.
pub(crate) fn export(target: &ExportTarget, run_dir: &Path) -> Result<Report, Error> {
    let ExportTarget::Ipamd { file, network, name, state_dir, boot_id_file, replace } = target;
    let _lock = Lock::take(state_dir).map_err(|error| locked(state_dir, &error))?;
    let boot = boot(boot_id_file.as_deref(), run_dir)?;
    let (book, moves, ended_by_reboot) = book(state_dir, run_dir, &boot, network)?;
    complete::has_come_over(&book, &moves)?;
    let former = FormerExport::read(state_dir);
    let kept = complete::accounts_for(file, &book, &moves, former.as_ref())?;
    let (checkpoint, left_out) = checkpoint(&book, name, kept);
    let text = serde_json::to_string(&checkpoint).map_err(|error| Error::new(ErrorCode::Internal, error))?;
    may_write(file, *replace)?;
    // First, so that the file is known also if this is interrupted in between.
    FormerExport::of(&book, &text).keep(state_dir)?;
    file::replace(file, text.as_bytes())?;
    let written = checkpoint.allocations.len();
    Ok(Report::of(Export { file: file.clone(), written, ended_by_reboot, left_out }))
}

fn locked(directory: &Path, error: &LockError) -> Error {
    match error {
        LockError::Held { holder, .. } => {
            let cause = format_args!(
                "{} is in use by process {holder}: stop tenured first, since it may still serve pods that the file would lack",
                directory.display()
            );
            Error::new(ErrorCode::InputOutput, cause)
        }
        LockError::Io(_) => unreadable(directory, error),
    }
}

/// The id of the running boot, as the daemon had it. By another one, all of its pods would have ended.
fn boot(file: Option<&Path>, run_dir: &Path) -> Result<BootId, Error> {
    let boot = match file {
        Some(file) => read_boot(file)?,
        None => boot_id().map_err(|error| Error::new(ErrorCode::InputOutput, error))?,
    };
    let boot = Mark::running_boot(run_dir, &BootSource::unknown(boot));
    let boot = boot.map_err(|error| unreadable(run_dir, &error))?;
    // A boot clears the run directory.
    let seen = Mark::boot(run_dir).map_err(|error| unreadable(run_dir, &error))?;
    let Some(seen) = seen.filter(|seen| *seen != boot) else { return Ok(boot) };
    let cause = format_args!(
        "the daemon of {} last ran in boot {}, and this one is {}, in which all of its pods have ended",
        run_dir.display(),
        seen.0,
        boot.0
    );
    Err(Error::new(ErrorCode::InputOutput, cause).to_be_solved_by(
        "pass the file of `node.boot_id_file` in tenured.toml with --boot-id-file; without that key, start tenured and stop it again",
    ))
}

fn read_boot(file: &Path) -> Result<BootId, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    parse_boot_id(&text).map_err(|why| unreadable(file, &why))
}

/// The network's book and the node's moves as a daemon that starts now would have them, and the number of attachments of any network that ended with a boot since.
fn book(
    directory: &Path,
    run_dir: &Path,
    boot: &BootId,
    network: &NetworkName,
) -> Result<(Book, Moves, usize), Error> {
    let mark = Mark::read(run_dir, boot).map_err(|error| unreadable(run_dir, &error))?;
    let disk = FileDisk::existing(directory);
    let recovered = recover_after(&disk, boot, clock::now(), mark.durable());
    let recovered = recovered.map_err(|error| unreadable(directory, &error))?;
    if mark.is_lost(&recovered.report) {
        let cause = format_args!(
            "the state in {} was lost in part and is not confirmed, so the file would lack pods: start tenured, confirm the state with `tenurectl adopt`, and stop it again",
            directory.display()
        );
        return Err(Error::new(ErrorCode::InputOutput, cause));
    }
    let (mut meant, others): (Vec<_>, Vec<_>) =
        recovered.state.books.into_iter().partition(|book| book.network().name == *network);
    let book = meant.pop().ok_or_else(|| unknown(directory, network, &others))?;
    Ok((book, recovered.state.node.moves, recovered.report.ended_by_reboot))
}

/// The error for a network that the state does not have. The daemon, which could list its networks, is stopped.
fn unknown(directory: &Path, network: &NetworkName, others: &[Book]) -> Error {
    let cause = format_args!("{} has no network {network}", directory.display());
    let names: Vec<_> = others.iter().map(|book| book.name().as_str()).collect();
    let next_step = match names.is_empty() {
        true => "the state has no networks; pass the daemon's directory with --state-dir".to_owned(),
        false => format!("pass one of the networks that the state has: {}", names.join(", ")),
    };
    Error::new(ErrorCode::UnknownNetwork, cause).to_be_solved_by(next_step)
}

/// A book as ipamd's checkpoint, with the rows of the present one that stay, and what that cannot express.
fn checkpoint(book: &Book, name: &str, kept: Vec<Row>) -> (Checkpoint, Vec<PassedOver>) {
    let has_row = |address: &IpAddr| kept.iter().any(|row| row.has(*address));
    let unexpressed = |held: &&Arc<Allocation>| match &held.owner {
        Owner::Unknown { address } => !has_row(address),
        _ => true,
    };
    let (mut allocations, mut left_out) = (Vec::new(), Vec::new());
    for held in book.allocations().filter(unexpressed) {
        let ips: Vec<_> = held.addresses.iter().map(AssignedAddress::ip).collect();
        let (v4, v6): (Vec<_>, Vec<_>) = ips.iter().partition(|ip| ip.is_ipv4());
        let why = match &held.owner {
            Owner::Attachment { .. } if v4.len() > 1 || v6.len() > 1 => {
                "ipamd has one address of a family for a pod"
            }
            Owner::Attachment { container, interface } => {
                let text = |ips: Vec<IpAddr>| ips.first().map(ToString::to_string).unwrap_or_default();
                allocations.push(Row {
                    network_name: name.to_owned(),
                    container_id: container.to_string(),
                    if_name: interface.to_string(),
                    ipv4: text(v4),
                    ipv6: text(v6),
                    allocation_timestamp: Some(nanoseconds(held.allocated_at.wall_ms)),
                    metadata: metadata(held),
                });
                continue;
            }
            Owner::Claim { .. } => "ipamd knows no agents",
            Owner::Unknown { .. } => "ipamd has no addresses without a known owner",
        };
        let what = ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        left_out.push(PassedOver { what: format!("{what} of {}", held.owner), why: why.to_owned() });
    }
    let free = book.quarantined().into_iter().filter(|marked| marked.owner.is_none());
    left_out.extend(free.map(|marked| PassedOver {
        what: format!("{} in quarantine", marked.address),
        why: "ipamd knows no quarantine".to_owned(),
    }));
    allocations.extend(kept);
    (Checkpoint { version: VERSION.to_owned(), allocations }, left_out)
}

/// The pod, if its link has the name that ipamd looks for: ipamd made it, or the host for the pod's first interface.
fn metadata(held: &Allocation) -> Metadata {
    let by_ipamd = held.origin.as_ref().is_some_and(|origin| origin.source.starts_with("ipamd "));
    let is_first = held.owner.attachment().is_some_and(|(_, interface)| interface.as_str() == "eth0");
    let pod = held.pod().filter(|_| by_ipamd || (is_first && held.link().is_some()));
    pod.map(|pod| Metadata { namespace: pod.namespace.to_string(), name: pod.name.to_string() })
        .unwrap_or_default()
}

fn nanoseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000)
}

/// Refuses to replace a file without the operator's word.
fn may_write(path: &Path, replace: bool) -> Result<(), Error> {
    if replace || !path.exists() {
        return Ok(());
    }
    let error = Error::new(ErrorCode::InputOutput, format_args!("{} exists", path.display()));
    Err(error.to_be_solved_by("pass --replace to overwrite it, or another file"))
}
