//! The double over real HTTP on loopback, as its callers use it. The clock is virtual: nothing here waits for time to pass.

#[cfg(test)]
#[path = "protocol/actions.rs"]
mod actions;
#[cfg(test)]
#[path = "protocol/client.rs"]
mod client;
#[cfg(test)]
#[path = "protocol/control.rs"]
mod control;
#[cfg(test)]
#[path = "protocol/doubles.rs"]
mod doubles;
#[cfg(test)]
#[path = "protocol/faults.rs"]
mod faults;
#[cfg(test)]
#[path = "protocol/imds.rs"]
mod imds;
#[cfg(test)]
#[path = "protocol/nodes.rs"]
mod nodes;
#[cfg(test)]
#[path = "protocol/refusals.rs"]
mod refusals;
