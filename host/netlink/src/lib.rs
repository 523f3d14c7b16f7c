//! The kernel's state on a node with cloud interfaces: desired, observed, and the way from one to the other.
//!
//! A small description of the node ([`NodeNetwork`]) becomes plain data ([`DesiredState`]); its difference from what the kernel shows ([`ObservedState`])
//! becomes an ordered [`KernelPlan`], which [`Kernel`] carries out. [`keep`] repeats that whenever something of ours changes. Everything
//! up to the plan is pure. No other crate names `rtnetlink`.
//!
//! ```text
//! Node ──▶ Wanted ──┐
//!                   ├──▶ Plan ──▶ apply: netlink, nft, /proc/sys
//!          Seen ────┘                    │
//!           ▲                            ▼
//!           └── look ◀── monitor ◀── the kernel
//! ```
//!
//! Only what is ours is touched: rules of protocol kernel with [our priorities](numbers) and tables, routes in
//! [our tables](numbers::OWN_TABLES), addresses of secondary interfaces that the description names, one nftables table, and a few
//! sysctls. With [`NodeSettings::adopt`] also the rules that ipamd made for the same pods, which ours replace.
//!
//! [`PodLink`] is the other half: the veth pair of one pod, made, compared and removed without any of the above.

mod apply;
mod error;
mod hosts;
mod keep;
mod kernel;
mod link;
mod monitor;
mod nft;
mod node;
pub mod numbers;
mod observe;
mod ours;
mod parts;
mod plan;
mod seen;
mod sysctl;
mod wanted;
mod wire;

pub use apply::Applied;
pub use error::Error;
pub use keep::{Event, keep};
pub use kernel::Kernel;
pub use link::{LinkDifference, LinkName, LinkTurn, LinkTurns, Netns, PodLink};
pub use monitor::{KernelChange, Monitor};
pub use nft::{Chain, ChainShape, NftTable, Ranges, Shape};
pub use node::{CloudInterface, NodeNetwork, NodeSettings, Pod, SourcePorts};
pub use parts::{InterfaceAddress, IpFamily, KernelLink, KernelRoute, Mac, PacketMark, RoutingRule};
pub use plan::{KernelPlan, Operation};
pub use seen::ObservedState;
pub use wanted::{Adopted, DesiredState, Invalid};
