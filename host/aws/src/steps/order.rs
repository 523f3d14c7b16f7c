//! An intent in terms of EC2.

use ipnet::IpNet;
use tenure_ledger::{Book, Intent};
use tenure_types::{EffectKind, Range};

use crate::date::date;
use crate::names;
use crate::port::{Assign, Creation};
use crate::settings::Ec2Settings;

/// An intent in terms of EC2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentOrder {
    /// The intent's id.
    pub id: String,
    /// The instance.
    pub instance: String,
    /// Change that the intent asks for.
    pub aim: Aim,
}

/// The change that an intent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aim {
    /// Creates and attaches an interface.
    Attach {
        /// The interface.
        creation: Box<Creation>,
        /// The instance.
        instance: String,
    },
    /// Assigns to an interface.
    Assign {
        /// The interface.
        interface: String,
        /// Addresses or prefixes to assign.
        what: Assign,
    },
    /// Takes an address or a prefix from an interface.
    Release {
        /// The interface.
        interface: String,
        /// Address or prefix to release.
        net: IpNet,
    },
    /// Detaches and deletes an interface.
    Detach {
        /// The interface.
        interface: String,
    },
}

/// An intent that says nothing that can be done here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongIntent {
    /// An attribute is missing, or not what it must be.
    #[error("{0} has no usable attribute {1}")]
    Attribute(&'static str, &'static str),
    /// The range is not of an interface.
    #[error("range {0} is neither an address nor a prefix of an interface")]
    Range(String),
    /// The kind of effect is not of AWS interfaces.
    #[error("{0} is not supported by AWS interfaces")]
    Kind(&'static str),
}

/// The node that interfaces are made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making<'a> {
    /// The instance.
    pub instance: &'a str,
    /// The subnet if the intent names none.
    pub subnet: Option<&'a str>,
    /// The security groups.
    pub groups: &'a [String],
    /// The settings.
    pub settings: &'a Ec2Settings,
}

impl IntentOrder {
    /// Reads an intent. The same intent makes the same order, so that EC2 takes a repeated creation for the same; `book`
    /// has the range that it releases.
    ///
    /// # Errors
    /// If the intent says nothing that can be done here.
    pub fn of(intent: &Intent, making: &Making<'_>, book: &Book) -> Result<Self, WrongIntent> {
        let kind = intent.kind.name();
        let text = |name: &'static str| {
            let value = intent.attributes.get(name).filter(|value| !value.is_empty());
            value.map(str::to_owned).ok_or(WrongIntent::Attribute(kind, name))
        };
        let number =
            |name: &'static str| text(name)?.parse::<u32>().map_err(|_| WrongIntent::Attribute(kind, name));
        let is_ipv6 = intent.pool.as_str() == names::IPV6;
        let aim = match intent.kind {
            EffectKind::AttachInterface => {
                let carries = match (number(names::PREFIXES), number(names::ADDRESSES)) {
                    (Ok(count), _) => prefixes(is_ipv6, count),
                    (_, Ok(count)) => Assign::Addresses(count),
                    _ => Assign::Nothing,
                };
                let subnet = text(names::SUBNET).ok().or_else(|| making.subnet.map(str::to_owned));
                let created = date(intent.since.wall_ms / 1000);
                let creation = Creation {
                    token: intent.id.to_string(),
                    subnet: subnet.ok_or(WrongIntent::Attribute(kind, names::SUBNET))?,
                    groups: making.groups.to_vec(),
                    description: names::description(making.instance),
                    carries,
                    tags: making.settings.tags_of(making.instance, intent.id.as_str(), &created),
                };
                Aim::Attach { creation: Box::new(creation), instance: making.instance.to_owned() }
            }
            EffectKind::AssignAddress => Aim::Assign {
                interface: text(names::INTERFACE)?,
                what: Assign::Addresses(number(names::COUNT)?),
            },
            EffectKind::AssignPrefix => Aim::Assign {
                interface: text(names::INTERFACE)?,
                what: prefixes(is_ipv6, number(names::COUNT)?),
            },
            EffectKind::ReleaseAddress | EffectKind::ReleasePrefix => {
                let name = text(names::RANGE)?;
                let found = range(book, &name).and_then(|range| {
                    let interface = range.attributes().get(names::INTERFACE)?.to_owned();
                    Some(Aim::Release { interface, net: crate::ranges::net_of(range)? })
                });
                found.ok_or(WrongIntent::Range(name))?
            }
            EffectKind::DetachInterface => Aim::Detach { interface: text(names::INTERFACE)? },
            EffectKind::RequestBlock | EffectKind::GiveBackBlock => return Err(WrongIntent::Kind(kind)),
        };
        Ok(Self { id: intent.id.to_string(), instance: making.instance.to_owned(), aim })
    }

    /// The interface that it changes; `None` if it makes one.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        match &self.aim {
            Aim::Attach { .. } => None,
            Aim::Assign { interface, .. } | Aim::Release { interface, .. } | Aim::Detach { interface } => {
                Some(interface)
            }
        }
    }
}

fn prefixes(is_ipv6: bool, count: u32) -> Assign {
    if is_ipv6 { Assign::Ipv6Prefixes(count) } else { Assign::Prefixes(count) }
}

/// A range by its name, of any pool.
pub(crate) fn range<'a>(book: &'a Book, name: &str) -> Option<&'a Range> {
    let all = (0..book.pools().len()).flat_map(|pool| book.ranges(pool));
    all.map(|view| view.range).find(|range| range.name().as_str() == name)
}
