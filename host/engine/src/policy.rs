//! Policies: calling them, what they remember, and the history of those that served a network.

pub(crate) mod calls;

pub(crate) mod history;
pub(crate) mod inherit;
pub(crate) mod memory;
pub(crate) mod shadows;
pub(crate) mod states;
pub(crate) mod verdicts;
pub(crate) mod watch;
pub(crate) mod words;
