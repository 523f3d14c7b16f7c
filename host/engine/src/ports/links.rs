//! The port to the maker of links in the kernel.

use tenure_types::{
    Allocation, Attributes, Connected, Error, Generation, Link, NetworkName, Owner, PodIdentity,
};

use super::Answer;

/// A link of an allocation, as it is found again without a record: the kernel keeps all three with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkKey {
    /// The name of the host's end.
    pub host: Box<str>,
    /// The allocation's network.
    pub network: NetworkName,
    /// The allocation's number there. It is never given again, so a link of another one is never meant.
    pub generation: Generation,
}

impl LinkKey {
    /// The key of an allocation's link; `None` if the host makes none for it.
    #[must_use]
    pub fn of(allocation: &Allocation) -> Option<Self> {
        let (network, generation) = (allocation.network.clone(), allocation.generation);
        allocation.link().map(|link| Self { host: link.host.clone(), network, generation })
    }
}

/// Makes, compares and removes links. All calls may be repeated; those about the same link wait for each other.
pub trait Links: Send + Sync + 'static {
    /// Returns the desired link of an owner, with this MTU in bytes if its caller asks for one. The attributes are those of the
    /// network's definition; there are none before its first one.
    fn link(&self, owner: &Owner, pod: Option<&PodIdentity>, mtu: Option<u32>, network: &Attributes) -> Link;

    /// Describes an allocation's link for its runtime; `None` if the host makes none for it. Asks nobody.
    fn describe(&self, allocation: &Allocation) -> Option<Connected>;

    /// Makes an allocation's link unless it is there, and leads packets to it. If the caller goes away meanwhile, it is finished all
    /// the same.
    ///
    /// # Errors
    /// `LinkFailed`, `LinkForbidden` and `LinkTaken`; `HostNetns` and `InvalidEnvironment` about the network namespace.
    fn connect<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()>;

    /// Makes the link of an allocation that an earlier daemon has answered, unless it is there, and leaves what its pod has changed about it.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    fn restore<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()>;

    /// Compares an allocation's link with the desired one.
    ///
    /// # Errors
    /// `LinkDiffers`; otherwise as [`connect`](Self::connect).
    fn check<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()>;

    /// Removes a link, unless it is another allocation's by now. Succeeds if there is none.
    ///
    /// # Errors
    /// `LinkFailed` and `LinkForbidden`.
    fn disconnect<'a>(&'a self, link: &'a LinkKey) -> Answer<'a, ()>;

    /// The links that the kernel shows of allocations, also of those that have ended.
    ///
    /// # Errors
    /// `LinkFailed`.
    fn list(&self) -> Answer<'_, Vec<LinkKey>>;

    /// Why no link could be made now, if it is so.
    ///
    /// # Errors
    /// `LinkForbidden` and `LinkFailed`.
    fn health(&self) -> Result<(), Error>;
}
