//! The format of a spooled file, which plugins and daemons of other versions read and write, too.

use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};
use tenure_rpc::v1::Invocation;

/// The JSON of a file. Fields are only ever added.
#[derive(Serialize, Deserialize)]
struct SpooledCall {
    #[serde(default)]
    container_id: String,
    #[serde(default)]
    netns: String,
    #[serde(default)]
    interface: String,
    #[serde(default)]
    args: String,
    #[serde(default)]
    path: String,
    config: String,
    #[serde(default)]
    started_at_boot_ms: u64,
    #[serde(default)]
    started_at_boot_ns: u64,
    /// The kernel's id of the boot in which it began; empty if an older version wrote it, or the kernel does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    boot: String,
}

/// The kernel's id of this boot, which no configuration replaces: start times are of the kernel's clock. Empty if it cannot be read.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Encodes a DEL as a file.
///
/// # Errors
/// `InvalidData` for a configuration that is not UTF-8.
pub(crate) fn bytes(invocation: &Invocation) -> io::Result<Vec<u8>> {
    let config = String::from_utf8(invocation.config.clone())
        .map_err(|_| useless("the configuration is not UTF-8"))?;
    let written = SpooledCall {
        container_id: invocation.container_id.clone(),
        netns: invocation.netns.clone(),
        interface: invocation.interface.clone(),
        args: invocation.args.clone(),
        path: invocation.path.clone(),
        config,
        started_at_boot_ms: invocation.started_at_boot_ms,
        started_at_boot_ns: invocation.started_at_boot_ns,
        boot: boot(),
    };
    Ok(serde_json::to_vec(&written)?)
}

/// Decodes the DEL of a file.
///
/// # Errors
/// `InvalidData` for bytes that are not a DEL, or a DEL without a start time, or of another boot.
pub(crate) fn invocation(bytes: &[u8]) -> io::Result<Invocation> {
    let written: SpooledCall = serde_json::from_slice(bytes).map_err(|error| useless(&error.to_string()))?;
    if written.started_at_boot_ms == 0 && written.started_at_boot_ns == 0 {
        // Replayed without a start time, it would free allocations that began long after it.
        return Err(useless("it has no start time"));
    }
    let now = boot();
    if !written.boot.is_empty() && !now.is_empty() && written.boot != now {
        // Its start time is of another clock: it would free what began before that time in this boot. Pods of its own boot have ended.
        return Err(useless("it is of another boot"));
    }
    Ok(Invocation {
        container_id: written.container_id,
        netns: written.netns,
        interface: written.interface,
        args: written.args,
        path: written.path,
        config: written.config.into_bytes(),
        started_at_boot_ms: written.started_at_boot_ms,
        started_at_boot_ns: written.started_at_boot_ns,
        // A DEL does not use the other fields.
        ..Invocation::default()
    })
}

/// The error for a file that can never be replayed.
pub(crate) fn useless(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
