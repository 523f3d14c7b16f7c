//! The names that this policy and the host have agreed on; `wit/README.md` lists them.

/// The pools, by address family.
pub const IPV4: &str = "ipv4";
/// The pool of IPv6 addresses.
pub const IPV6: &str = "ipv6";

/// Range: the interface that it is on.
pub const INTERFACE: &str = "interface";
/// Range: the device number of that interface; `0` is the primary one.
pub const DEVICE: &str = "device";
/// The device number of the primary interface.
pub const PRIMARY_DEVICE: &str = "0";

/// Object: a network interface of the node. Also the attribute of an effect that names one.
pub const INTERFACES: &str = "interface";
/// Object: a subnet of the node's zone.
pub const SUBNETS: &str = "subnet";
/// Object: a range without held and cooling addresses.
pub const RANGES: &str = "range";
/// Object: a label of the node, with its [`VALUE`].
pub const LABELS: &str = "label";
/// Label: its value.
pub const VALUE: &str = "value";

/// State: the instance's type.
pub const INSTANCE_TYPE: &str = "instance.type";
/// State: the time in UTC, as RFC 3339 has it.
pub const TIME: &str = "time.utc";

/// Effects: how many addresses or prefixes.
pub const COUNT: &str = "count";
/// Effect `attach-interface`: how many addresses the interface should have.
pub const ADDRESSES: &str = "addresses";
/// Effect `attach-interface`: how many prefixes the interface should have.
pub const PREFIXES: &str = "prefixes";
/// Effect `attach-interface`: the subnet. Interface: the subnet that it is in.
pub const SUBNET: &str = "subnet";
/// Effects `release-prefix` and `release-address`: the range's name.
pub const RANGE: &str = "range";
/// Effects: why, with the arithmetic.
pub const REASON: &str = "reason";

/// Request: `full` if the last plan found that nothing can be added.
pub const SUPPLY_STATE: &str = "supply.state";
/// The value of [`SUPPLY_STATE`].
pub const FULL: &str = "full";

/// The value of a flag.
pub const TRUE: &str = "true";
/// The value of a flag that is not set.
pub const FALSE: &str = "false";
