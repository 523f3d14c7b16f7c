//! Which pools of a network a pod's addresses may come from.
//!
//! [`candidates`] is the order in which requests, annotations, configurations and selectors decide, as one pure function. Labels come from
//! [`pods`](crate::pods), the selectors from the operator by way of the node's object; they are kept in the ledger, so that a node without an
//! API server goes on choosing as before.

mod claims;
mod order;
mod records;
mod rule;

pub use self::claims::{ClaimName, InvalidClaimName, named_claims, unread_claims};
pub use self::order::{PoolQuestion, PoolRefusal, candidates};
pub(crate) use self::records::rules_object;
pub use self::records::{KnownRules, pool_rules};
pub use self::rule::PoolSelectors;
pub use crate::pods::{CLAIM_ANNOTATION, MATCH_ANNOTATION, POOLS_ANNOTATION};
