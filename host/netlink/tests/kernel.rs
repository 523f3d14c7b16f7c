//! The kernel itself: traffic for each row of the datapath, drift, migration, and pods' links.
//!
//! As root. The program starts itself again in network, mount and process namespaces of its own, which the kernel removes with it,
//! so that nothing is left behind in any case.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "all of it is tests, which clippy only knows of the standard runner's"
)]

#[path = "kernel/drift.rs"]
mod drift;
#[path = "kernel/hosts.rs"]
mod hosts;
#[path = "kernel/link.rs"]
mod link;
#[path = "kernel/many.rs"]
mod many;
#[path = "kernel/migration.rs"]
mod migration;
#[path = "kernel/networkd.rs"]
mod networkd;
#[path = "kernel/room.rs"]
mod room;
#[path = "kernel/suite.rs"]
mod suite;
#[path = "kernel/traffic.rs"]
mod traffic;
#[path = "kernel/world.rs"]
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut suite = suite::Suite::new();
    traffic::tests(&mut suite);
    drift::tests(&mut suite);
    networkd::tests(&mut suite);
    migration::tests(&mut suite);
    hosts::tests(&mut suite);
    link::tests(&mut suite);
    many::tests(&mut suite);
    suite.run()
}
