//! The daemon's additions to `tenure-aws`, so that a node's AWS network interfaces serve a network: the node's identity, the
//! second witness, and the kernel's view of the interfaces.
//!
//! [`parts::AwsPart`](crate::parts::AwsPart) runs it. Without `[aws]` in the configuration, nothing here is used.

mod describing;
mod ec2;
mod identities;
#[cfg(feature = "cluster")]
mod kept_node;
mod limits;
mod ranges;
mod readiness;
mod settings;
mod told;
mod who;
mod witness;

pub(crate) use self::describing::Describing;
pub(crate) use self::ec2::ec2;
pub(crate) use self::limits::AskedLimits;
pub(crate) use self::ranges::follow_ranges;
pub(crate) use self::readiness::missing;
pub(crate) use self::told::{ToldNode, configured};
pub(crate) use self::who::Who;
pub(crate) use self::witness::{Looking, in_use};
