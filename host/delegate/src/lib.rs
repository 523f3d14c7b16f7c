//! Delegates: CNI IPAM binaries of others, which the daemon runs on behalf of pods and agents.
//!
//! A delegate is never trusted with more than a call: it gets an environment of its own, its input on a pipe, a time limit,
//! and a bounded place to print to, and every process that it starts is killed when the call has ended. What it answers is data; who owns
//! an address is decided elsewhere.
//!
//! [`WithDelegates`] adds them to the node's policies: a network's delegate stands where another network has a policy.
//!
//! ```text
//! Delegate::add, tell ─▶ calls: a turn; a place (bounded) ─▶ exchange: pipes, deadline, group ─▶ answer: a result, or a failure
//!                                                 │ starts
//!                                                 ▼
//!                             child: this program again, which locks, checks the binary, and becomes it
//! ```

mod allowed;
mod answer;
mod calls;
mod catalogue;
mod child;
mod delegate;
mod exchange;
mod failure;
mod input;
mod opened;
mod outlived;
mod process;
mod proposer;
mod settings;
mod text;
mod version;

pub use allowed::Allowed;
pub use calls::DelegateCalls;
pub use catalogue::WithDelegates;
pub use child::maybe_run_delegate_child;
pub use delegate::DelegateProgram;
pub use failure::CallFailure;
pub use opened::usable;
pub use settings::DelegateSettings;
