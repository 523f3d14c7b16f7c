//! Takes away from a child process what it does not need, before it reads what it does not trust.
//!
//! The child is this program itself. Its parent starts it with the parent's own user, since a process that another user
//! starts belongs to that user from its first instruction: any process of that user could attach to it and choose what it
//! answers. The order in which it confines itself leaves no moment for that:
//!
//! | step | who may attach to the child from then on |
//! |---|---|
//! | exec | its user, who is root |
//! | the child closes what it inherited, and becomes a user of its own, but keeps its capabilities | who has these capabilities |
//! | it is not dumpable | who has `CAP_SYS_PTRACE` |
//! | it gives up its capabilities for ever | the same |
//! | it has a filter of system calls | the same |
//!
//! Where the child has no right to become another user, as in the systemd unit, it stays what it is, and the other steps
//! remain.

mod descriptors;
mod filter;
mod user;

pub use self::descriptors::close_inherited;
pub use self::filter::{SystemCalls, filter};
pub use self::user::{FIRST_USER, drop_rights};
