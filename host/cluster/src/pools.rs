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

/// The annotation of a pod or a namespace that names AddressPools, separated by commas, the preferred one first.
pub const POOLS_ANNOTATION: &str = "ipam.tenure.dev/pools";

/// The annotation of a pod that names its AddressClaims, at most one of a family, separated by commas. `{ordinal}` stands for the number at the end of
/// the pod's name, such as that of a StatefulSet's pod.
pub const CLAIM_ANNOTATION: &str = "ipam.tenure.dev/claim";

/// The annotation of a pod or a namespace by which `true` refuses the pod where no pool is named for it and none selects it.
pub const MATCH_ANNOTATION: &str = "ipam.tenure.dev/require-pool-match";
