//! EC2 as tenure uses it: a dozen calls, their data, and what their failures mean.
//!
//! An implementation sends each call once. It never retries: whether and when to try again is decided by the owner of the
//! budget.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use ipnet::IpNet;

/// A pending answer of EC2.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

/// The EC2 API, as far as tenure uses it.
pub trait Ec2: Send + Sync + 'static {
    /// The interfaces that are meant, with all that EC2 knows of each. All pages.
    fn interfaces<'a>(&'a self, which: &'a Which) -> Call<'a, Vec<Ec2Interface>>;

    /// Creates an interface. A repeated call with the same token creates nothing more, and answers the same.
    fn create<'a>(&'a self, creation: &'a Creation) -> Call<'a, Ec2Interface>;

    /// Attaches an interface to an instance, and answers the attachment's id. Repeating it fails with
    /// [`Failure::InUse`] or [`Failure::IndexTaken`].
    fn attach<'a>(&'a self, attachment: &'a Attach) -> Call<'a, String>;

    /// Has an attached interface deleted when its instance ends.
    fn delete_with_instance<'a>(&'a self, interface: &'a str, attachment: &'a str) -> Call<'a, ()>;

    /// Sets the security groups of an interface.
    fn set_groups<'a>(&'a self, interface: &'a str, groups: &'a [String]) -> Call<'a, ()>;

    /// Assigns addresses or prefixes to an interface, and answers the new ones: all or none. A repeated call with a count
    /// assigns more.
    fn assign<'a>(&'a self, interface: &'a str, what: &'a Assign) -> Call<'a, Vec<IpNet>>;

    /// Takes addresses (of full prefix length) or prefixes off an interface: those of IPv4 first, and those of IPv6 with a
    /// request of its own.
    fn unassign<'a>(&'a self, interface: &'a str, what: &'a [IpNet]) -> Call<'a, ()>;

    /// Detaches an interface.
    fn detach<'a>(&'a self, attachment: &'a str) -> Call<'a, ()>;

    /// Deletes an interface that is not attached.
    fn delete<'a>(&'a self, interface: &'a str) -> Call<'a, ()>;

    /// Sets tags of an interface.
    fn tag<'a>(&'a self, interface: &'a str, tags: &'a BTreeMap<String, String>) -> Call<'a, ()>;

    /// The subnets of a VPC in a zone. All pages.
    fn subnets<'a>(&'a self, vpc: &'a str, zone: &'a str) -> Call<'a, Vec<Ec2Subnet>>;

    /// Describes the limits of an instance type.
    fn limits<'a>(&'a self, instance_type: &'a str) -> Call<'a, InstanceLimits>;
}

/// Interfaces to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Interfaces attached to an instance.
    Attached(String),
    /// Interfaces with these ids. Ids that do not exist are left out of the answer.
    Ids(Vec<String>),
    /// Interfaces with these tags, attached or not.
    Tagged(BTreeMap<String, String>),
}

/// A network interface, as EC2 describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ec2Interface {
    /// EC2's id, such as `eni-0a1b`.
    pub id: String,
    /// EC2's id of the subnet.
    pub subnet: String,
    /// Hardware address, in lower case with colons.
    pub mac: String,
    /// Description, as its creator wrote it.
    pub description: String,
    /// `interface`, `efa`, `efa-only`, `trunk`, `branch`, or what EC2 says.
    pub kind: String,
    /// State of its life in EC2.
    pub status: Status,
    /// Attachment to an instance, if there is one.
    pub attachment: Option<Attachment>,
    /// Primary IPv4 address, which pods do not use.
    pub primary_address: Option<IpAddr>,
    /// The security groups.
    pub groups: Vec<String>,
    /// Further addresses and prefixes: single addresses of IPv4 with their full prefix length, and prefixes. A single address of
    /// IPv6 is the node's own, and not here.
    pub carries: Vec<IpNet>,
    /// Tags, by key.
    pub tags: BTreeMap<String, String>,
}

/// The state of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not attached.
    Available,
    /// On its way to an instance.
    Attaching,
    /// Attached to an instance.
    InUse,
    /// On its way from an instance.
    Detaching,
    /// Anything else, such as `pending`.
    Other,
}

/// An attachment of an interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attachment {
    /// EC2's id, such as `eni-attach-0a1b`.
    pub id: String,
    /// The instance.
    pub instance: String,
    /// The network card.
    pub card: u32,
    /// The device index on that card.
    pub device: u32,
    /// Whether the interface is deleted when the instance ends.
    pub delete_with_instance: bool,
    /// Beginning of the attachment, in seconds since 1970.
    pub since: u64,
}

/// An interface to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The intent's id: repeating it creates nothing more.
    pub token: String,
    /// The subnet's id.
    pub subnet: String,
    /// The security groups.
    pub groups: Vec<String>,
    /// For people.
    pub description: String,
    /// Addresses or prefixes to assign at creation.
    pub carries: Assign,
    /// Tags, by key.
    pub tags: BTreeMap<String, String>,
}

/// An attachment to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    /// The interface.
    pub interface: String,
    /// The instance.
    pub instance: String,
    /// The network card.
    pub card: u32,
    /// The device index on that card.
    pub device: u32,
}

/// Addresses or prefixes to assign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Assign {
    /// No addresses and no prefixes.
    #[default]
    Nothing,
    /// So many addresses of IPv4.
    Addresses(u32),
    /// So many prefixes (/28) of IPv4.
    Prefixes(u32),
    /// So many prefixes (/80) of IPv6.
    Ipv6Prefixes(u32),
}

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ec2Subnet {
    /// EC2's id of the subnet.
    pub id: String,
    /// CIDR ranges, one of each family that the subnet has.
    pub ranges: Vec<IpNet>,
    /// Free addresses of IPv4, as EC2 counts them; it may lag behind. All that the subnet can have, if only the metadata service has named it.
    pub available: u32,
    /// Tags, by key.
    pub tags: BTreeMap<String, String>,
}

/// The limits of an instance type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceLimits {
    /// The interfaces of network card 0.
    pub interfaces: u32,
    /// The addresses of IPv4 of an interface, its own included.
    pub addresses: u32,
    /// The addresses of IPv6 of an interface.
    pub ipv6_addresses: u32,
    /// Whether an interface can have prefixes.
    pub prefixes: bool,
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {code}: {message}")]
pub struct CallError {
    /// The API's action, such as `CreateNetworkInterface`.
    pub action: &'static str,
    /// The meaning of the failure.
    pub failure: Failure,
    /// EC2's code, or what went wrong on the way.
    pub code: String,
    /// EC2's words.
    pub message: String,
    /// After what time to try again, if EC2 said.
    pub retry_after: Option<Duration>,
}

/// The meaning of a failure for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failure {
    /// Too many calls; says nothing about the object.
    Throttled,
    /// The subnet does not have enough free addresses.
    SubnetExhausted,
    /// The subnet has no such block of free addresses, though it may have addresses.
    NoBlock,
    /// The subnet has too few free addresses or blocks; EC2 does not say which.
    TooFew,
    /// The interface has as many addresses as it may have.
    InterfaceFull,
    /// The instance has as many interfaces as it may have.
    InstanceFull,
    /// Another interface is at this device index.
    IndexTaken,
    /// The region's quota of interfaces is used up.
    Quota,
    /// The interface, or the attachment, does not exist, or is not visible yet.
    NotFound,
    /// The interface is attached, or still detaching.
    InUse,
    /// The address or prefix to unassign is not on the interface.
    NotAssigned,
    /// The instance is not in a state for this.
    InstanceState,
    /// Never allowed for this object, such as to detach the primary interface.
    Never,
    /// A subnet, a security group or another part of the configuration does not exist.
    Configuration,
    /// The same token was used for something else.
    TokenReused,
    /// The credentials do not allow the action, or are not valid.
    Denied,
    /// Whether it was done is unknown: no answer, half an answer, or a fault of the service.
    Unknown,
    /// Anything else: not done, and not to be repeated unchanged.
    Refused,
}

impl Failure {
    /// Names it for people and for metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::SubnetExhausted => "subnet-exhausted",
            Self::NoBlock => "no-block",
            Self::TooFew => "too-few",
            Self::InterfaceFull => "interface-full",
            Self::InstanceFull => "instance-full",
            Self::IndexTaken => "index-taken",
            Self::Quota => "quota",
            Self::NotFound => "not-found",
            Self::InUse => "in-use",
            Self::NotAssigned => "not-assigned",
            Self::InstanceState => "instance-state",
            Self::Never => "never",
            Self::Configuration => "configuration",
            Self::TokenReused => "token-reused",
            Self::Denied => "denied",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
        }
    }
}
