//! What the kernel showed when it was looked at.

use std::collections::BTreeMap;

use crate::nft::Shape;
use crate::parts::{Address, Link, Route, Rule};

/// The part of the kernel's state that a plan is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// All links of the namespace.
    pub links: Vec<Link>,
    /// The global addresses of all links.
    pub addresses: Vec<Address>,
    /// The routes of our tables and of the main one.
    pub routes: Vec<Route>,
    /// All rules of both families, in the order in which they are asked.
    pub rules: Vec<Rule>,
    /// The present values of the sysctls that are wanted; one that does not exist is not here.
    pub sysctls: BTreeMap<String, String>,
    /// Our nftables table, if it exists.
    pub table: Option<Shape>,
}

impl Seen {
    /// The link of this name.
    #[must_use]
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.name == name)
    }
}
