//! What a node with cloud interfaces wants of the kernel, and how the kernel gets there.
//!
//! A small description of the node ([`Node`]) becomes plain data ([`Wanted`]); its difference from what the kernel shows ([`Seen`])
//! becomes an ordered [`Plan`], which [`Kernel`] carries out. [`keep`] repeats that whenever something of ours changes. Everything
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
//! sysctls. With [`Settings::adopt`] also the rules that ipamd made for the same pods, which ours replace.
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
pub use link::{Difference, Name, Netns, PodLink, Turn, Turns};
pub use monitor::{Change, Monitor};
pub use nft::{Chain, ChainShape, Ranges, Shape, Table};
pub use node::{Interface, Node, Pod, Ports, Settings};
pub use parts::{Address, Family, Link, Mac, Mark, Route, Rule};
pub use plan::{Operation, Plan};
pub use seen::Seen;
pub use wanted::{Adopted, Invalid, Wanted};
