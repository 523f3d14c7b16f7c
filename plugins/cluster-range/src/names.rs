//! The names that this policy and the host have agreed on; `wit/README.md` lists them.

/// Request: the pools that it may have addresses of, separated by commas, the preferred ones first; without it, all.
pub const POOLS: &str = "supply.pools";
/// Request: the state of the supply; [`FULL`] if the last plan found that no block can come.
pub const SUPPLY_STATE: &str = "supply.state";
/// The state of a supply that cannot grow.
pub const FULL: &str = "full";
/// Definition: the gateway of each block, `first` or `none`.
pub const GATEWAY: &str = "cluster.gateway";
/// Range: the leased block that it is a part of. Effect `give-back-block`: the block.
pub const BLOCK: &str = "block";
/// Effect `request-block`: how many more addresses are wanted.
pub const ADDRESSES: &str = "addresses";
/// State: free addresses to keep in advance.
pub const PREALLOCATION: &str = "preallocation";
/// State: seconds for which a block must be empty before it is spare.
pub const RELEASE_SECONDS: &str = "release.seconds";
/// Object: a pool of the network, with the operator's word about it.
pub const POOL: &str = "pool";
/// Pool: why the operator grants no block, in one word.
pub const REASON: &str = "reason";
/// Pool: the same in words.
pub const MESSAGE: &str = "message";
/// The reason when no block of the cluster's pool is free.
pub const EXHAUSTED: &str = "PoolExhausted";
/// The reason when the cluster's pool has no addresses of the family.
pub const NO_FAMILY: &str = "NoSuchFamily";
/// Object: a block without held and cooling addresses.
pub const EMPTY_BLOCK: &str = "block";
/// Empty block: the seconds for which it has been empty.
pub const IDLE_SECONDS: &str = "idle.seconds";
