//! The double over real HTTP on loopback, as its callers use it. The clock is virtual: nothing here waits for time to pass.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod client;
#[cfg(test)]
mod control;
#[cfg(test)]
mod doubles;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod imds;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod parameters;
#[cfg(test)]
mod program;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod transcript;
