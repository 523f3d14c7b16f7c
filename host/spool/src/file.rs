//! The form of a spooled file, which plugins and daemons of other versions read and write as well.

use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};
use tenure_rpc::v1::Invocation;

/// A file as it is written. Fields are only ever added.
#[derive(Serialize, Deserialize)]
struct Written {
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
}

/// The bytes of a DEL's file.
///
/// # Errors
/// `InvalidData` for a configuration that is not UTF-8.
pub(crate) fn bytes(invocation: &Invocation) -> io::Result<Vec<u8>> {
    let config = String::from_utf8(invocation.config.clone())
        .map_err(|_| useless("the configuration is not UTF-8"))?;
    let written = Written {
        container_id: invocation.container_id.clone(),
        netns: invocation.netns.clone(),
        interface: invocation.interface.clone(),
        args: invocation.args.clone(),
        path: invocation.path.clone(),
        config,
        started_at_boot_ms: invocation.started_at_boot_ms,
        started_at_boot_ns: invocation.started_at_boot_ns,
    };
    Ok(serde_json::to_vec(&written)?)
}

/// The DEL that a file's bytes hold.
///
/// # Errors
/// `InvalidData` for bytes that are not a DEL, or one that does not say when it began.
pub(crate) fn invocation(bytes: &[u8]) -> io::Result<Invocation> {
    let written: Written = serde_json::from_slice(bytes).map_err(|error| useless(&error.to_string()))?;
    if written.started_at_boot_ms == 0 && written.started_at_boot_ns == 0 {
        // Done now, it would free what began long after it.
        return Err(useless("it does not say when it began"));
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
        // A DEL has no use for the rest.
        ..Invocation::default()
    })
}

/// The error of a file that will never be of use.
pub(crate) fn useless(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
