//! The names that a policy needs: `use tenure_sdk::prelude::*;`.
//!
//! ```
//! use tenure_sdk::prelude::*;
//!
//! let full = Refusal::exhausted("no address is free");
//! # let _ = full;
//! ```

pub use crate::ledger::{Direction, Pool, Shelf, Standing, Usage, room};
pub use crate::{
    Attributes, Config, ConfigError, Cooling, Definition, Effect, EffectKind, Need, Node, Outcome, Planner,
    Policy, PoolDefinition, Proposal, Range, Refusal, Request, Stateful, SupplySituation, configuration,
    ledger,
};
