//! The capabilities that links need. A daemon that makes none needs none.

use rustix::thread::{CapabilitySet, capabilities};
use tenure_types::{Error, ErrorCode, Result};

/// Checks that links can be made in the kernel, and their network namespaces entered.
///
/// # Errors
/// `LinkForbidden` with what is missing.
pub(crate) fn check() -> Result<()> {
    let held = capabilities(None).map_err(|error| Error::new(ErrorCode::Internal, error))?.effective;
    let needed = [(CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"), (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN")];
    let missing = needed.into_iter().filter(|(needed, _)| !held.contains(*needed));
    let missing: Vec<&str> = missing.map(|(_, name)| name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorCode::LinkForbidden, format_args!("tenured lacks {}", missing.join(" and "))))
}
