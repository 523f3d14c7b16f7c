//! The port over the AWS SDK, against the double: every call, every failure that the double has, and credentials.

#[cfg(test)]
#[path = "sdk/calls.rs"]
mod calls;
#[cfg(test)]
#[path = "sdk/credentials.rs"]
mod credentials;
#[cfg(test)]
#[path = "sdk/faults.rs"]
mod faults;
#[cfg(test)]
#[path = "sdk/node.rs"]
mod node;
#[cfg(test)]
#[path = "sdk/permissions.rs"]
mod permissions;
#[cfg(test)]
#[path = "sdk/reads.rs"]
mod reads;
#[cfg(test)]
#[path = "sdk/refusals.rs"]
mod refusals;
