//! The user that a child becomes.

use std::io;

use rustix::process::{
    DumpableBehavior, Signal, geteuid, getpid, set_dumpable_behavior, set_parent_process_death_signal,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, capabilities, set_capabilities, set_keep_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The first of the users that children become: a child's user is this plus its process ID, which no two processes share.
///
/// systemd's list of users leaves the range to nobody, containers' ranges end before it, and it is positive as an `int`.
pub const FIRST_USER: u32 = 0x7E00_0000;

/// The user and group `nobody`, where a user namespace does not have that range.
const NOBODY: u32 = 65534;

/// Becomes a user of its own, which nobody may trace, and gives up every capability for ever.
///
/// A process without the capability to become another user stays what it is. If that is `root`, as in the systemd unit, it has
/// no right but that of the owner of files.
///
/// # Errors
/// When the kernel refuses one of the steps.
pub fn drop_rights() -> io::Result<()> {
    let to_be_another = CapabilitySet::SETUID | CapabilitySet::SETGID;
    // The call is not just tried, since a filter of system calls might end the process for it.
    if geteuid().is_root() && capabilities(None)?.effective.contains(to_be_another) {
        // A process with capabilities is attached to only by one with the same: until it is not dumpable, that protects it.
        set_keep_capabilities(true)?;
        set_thread_groups(&[])?;
        let own = FIRST_USER.saturating_add(getpid().as_raw_nonzero().get().unsigned_abs());
        become_user(own).or_else(|_| become_user(NOBODY))?;
    }
    // A change of the user resets this, so it comes after.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (left, none) = (capabilities(None)?, CapabilitySet::empty());
    // A filter may deny the call where there is nothing to give up.
    if !(left.effective | left.permitted).is_empty() {
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    }
    set_no_new_privs(true)?;
    // The child does not outlive the thread that waits for it. A change of the user resets this, too.
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn become_user(id: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}
