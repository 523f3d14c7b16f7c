//! Requests and what a policy answers them with.

use std::net::IpAddr;

use crate::bindings::exports::tenure::ipam::allocation;
use crate::bindings::tenure::ipam::types;
use crate::configuration::{attributes, find};

/// A request for one address from each pool.
#[derive(Debug, Clone)]
pub struct Request {
    /// Addresses that the caller insists on, in its order.
    pub requested: Vec<IpAddr>,
    attributes: Vec<(String, String)>,
}

impl Request {
    /// What the host knows under a name, such as `pod.namespace`.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }
}

/// The addresses that a policy proposes, each with the index of its pool.
pub type Proposal = Vec<(u32, IpAddr)>;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The configuration is wrong.
    InvalidConfig {
        /// The key's path, such as `ipam.ranges[0][1].subnet`; empty for the whole.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// Nothing is free; the text says where.
    Exhausted(String),
    /// An address that the caller insists on cannot be had.
    Unavailable(String),
    /// Any other reason.
    Other(String),
}

impl Refusal {
    /// A configuration that is wrong at a path.
    pub fn config(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidConfig { path: path.into(), message: message.into() }
    }
}

impl TryFrom<allocation::Request> for Request {
    type Error = Refusal;

    fn try_from(request: allocation::Request) -> Result<Self, Refusal> {
        let parse = |text: &String| {
            text.parse()
                .map_err(|_| Refusal::Unavailable(format!("requested address {text} is not an address")))
        };
        let requested = request.requested.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { requested, attributes: attributes(request.attributes) })
    }
}

/// The proposal as `wit/` writes it.
pub(crate) fn proposal(proposal: Proposal) -> allocation::Proposal {
    let assignment =
        |(pool, address): (u32, IpAddr)| allocation::Assignment { pool, address: address.to_string() };
    allocation::Proposal {
        assignments: proposal.into_iter().map(assignment).collect(),
        attributes: Vec::new(),
    }
}

impl From<Refusal> for types::Refusal {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InvalidConfig { path, message } => {
                Self::InvalidConfig(types::ConfigError { path, message })
            }
            Refusal::Exhausted(text) => Self::Exhausted(text),
            Refusal::Unavailable(text) => Self::Unavailable(text),
            Refusal::Other(text) => Self::Other(text),
        }
    }
}
