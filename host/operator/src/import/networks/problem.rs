//! The reasons for which a NetworkAttachmentDefinition has no proposal.

use std::net::IpAddr;

use ipnet::IpNet;

/// The most exclusions of an AddressPool.
pub(super) const MAX_EXCLUSIONS: usize = 64;

/// A reason, with the way out of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NetworkProblem {
    /// The configuration cannot be read.
    #[error("its spec.config cannot be read: {0}; correct it, or delete it")]
    Unread(String),
    /// A setting of whereabouts cannot be read.
    #[error("its ipam cannot be read: {0}")]
    Settings(String),
    /// Several plugins of a list have addresses of whereabouts.
    #[error(
        "several of its plugins have addresses of whereabouts, and so it gives each pod several of one family; divide it"
    )]
    SeveralPlugins,
    /// Neither the configuration nor a flat file has a range.
    #[error("it has no range; give the file that has it, such as {0}, by --flat-file")]
    NoRange(String),
    /// A range is not one.
    #[error("its range {0:?} is neither a CIDR nor FIRST-LAST/PREFIX")]
    Range(String),
    /// An end of a range does not fit.
    #[error("its range {cidr} does not have {first} to {last}")]
    Ends {
        /// The range.
        cidr: IpNet,
        /// The first address.
        first: IpAddr,
        /// The last address.
        last: IpAddr,
    },
    /// A text is not an address.
    #[error("its {0} {1:?} is not an address")]
    Address(&'static str, String),
    /// An exclusion is not one.
    #[error("its exclude {0:?} is neither a CIDR nor an address")]
    Exclusion(String),
    /// A range has no address left.
    #[error("its exclude {0} leaves nothing of its range {1}")]
    AllExcluded(IpNet, IpNet),
    /// An AddressPool has no room for the exclusions.
    #[error("it has {0} exclusions, and an AddressPool can have {MAX_EXCLUSIONS}; join some of them")]
    Exclusions(usize),
    /// Several ranges of one family.
    #[error(
        "its ranges {0} and {1} are of one family: whereabouts gives each pod an address of both, and a network of tenure one of each family; divide it into two NetworkAttachmentDefinitions"
    )]
    SameFamily(IpNet, IpNet),
    /// Addresses that every pod gets.
    #[error(
        "its ipam.addresses gives all pods the same addresses, which tenure does not; set them in the pods, or remove them"
    )]
    StaticAddresses,
    /// The gateway is not in a range.
    #[error(
        "its gateway {0} is in none of its ranges, and that of an AddressPool must be; widen the range to the whole subnet, and exclude the rest"
    )]
    Gateway(IpAddr),
    /// A slice does not fit.
    #[error(
        "its node_slice_size {0:?} is not a prefix length that {1} can be cut into; blocks are at most 16 bits longer"
    )]
    Slice(String, IpNet),
    /// The name cannot be that of an overlap group.
    #[error(
        "its network_name {0:?} cannot be an overlap group: up to 63 small letters, digits and dashes; rename it"
    )]
    Group(String),
    /// The name cannot be that of a network.
    #[error("its network cannot be named: {0}")]
    Name(String),
    /// The name cannot be that of a pool.
    #[error("an AddressPool cannot be named {0}: its name has at most 60 characters")]
    PoolName(String),
    /// Another NetworkAttachmentDefinition uses the addresses in another way.
    #[error(
        "its range {range} overlaps {other} of {network}, which has other settings; give both the same ranges, exclude and gateway, and they share a pool, or divide the range"
    )]
    Shared {
        /// The range.
        range: IpNet,
        /// The other one's.
        other: IpNet,
        /// The other one.
        network: String,
    },
    /// Another NetworkAttachmentDefinition has the network with other families.
    #[error("its name {0} is also that of {1}, which has other families; give it a name of its own")]
    Families(String, String),
}
