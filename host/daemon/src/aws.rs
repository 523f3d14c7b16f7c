//! What the daemon adds to `tenure-cloud`, so that a node's AWS network interfaces serve a network: who the node is, the
//! second witness, and what the interfaces are to the kernel.
//!
//! [`parts::Aws`](crate::parts::Aws) runs it. Without `[aws]` in the configuration, nothing here is used.

mod describing;
mod ec2;
mod readiness;
mod settings;
mod who;
mod witness;

pub(crate) use self::describing::Describing;
pub(crate) use self::ec2::ec2;
pub(crate) use self::readiness::missing;
pub(crate) use self::who::{Who, limits};
pub(crate) use self::witness::Looking;
