//! The order in which the metadata service is asked what has changed: one request at a time, so that a node at rest makes few.
//!
//! ```text
//! the list of interfaces ─▶ the VPC's ranges ─▶ a field of an interface ─▶ the security groups ─▶ the list ─▶ .. the next field ..
//! ```
//!
//! Every fourth request is the same, so that a changed range or group is known within four requests; the fields of all interfaces have their
//! turn one after the other. The answers are compared with what EC2 has shown, by the executor. Pure.

use std::collections::BTreeSet;

use super::imds::MACS;

/// The requests, and the interfaces that the service listed last.
#[derive(Debug)]
pub struct HintRound {
    /// The directory of the primary interface.
    primary: String,
    macs: BTreeSet<String>,
    /// The number of requests that were answered.
    asked: usize,
}

/// An answer of the metadata service about something that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Part of what it shows of the interfaces.
    Shown(ShownPart),
    /// The VPC has these ranges of IPv4, as before or not.
    Ranges(BTreeSet<String>),
    /// The primary interface has these security groups, as before or not.
    Groups(BTreeSet<String>),
}

/// Part of what the metadata service shows of the interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownPart {
    /// The hardware addresses of all interfaces.
    Interfaces(BTreeSet<String>),
    /// A field of one interface.
    Field {
        /// Hardware address of the interface.
        mac: String,
        /// The field.
        field: CarriedField,
        /// The lines of the field.
        values: BTreeSet<String>,
    },
}

/// A field of an interface that EC2 describes, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarriedField {
    /// The addresses of IPv4, the interface's own among them.
    Addresses,
    /// The prefixes of IPv4.
    Prefixes,
    /// The prefixes of IPv6.
    Ipv6Prefixes,
}

impl CarriedField {
    /// The fields, in the order in which they are asked for.
    pub const ALL: [Self; 3] = [Self::Addresses, Self::Prefixes, Self::Ipv6Prefixes];

    /// The service's name of it.
    fn name(self) -> &'static str {
        match self {
            Self::Addresses => "local-ipv4s",
            Self::Prefixes => "ipv4-prefix",
            Self::Ipv6Prefixes => "ipv6-prefix",
        }
    }
}

/// A question of the round.
enum RoundTurn {
    List,
    Ranges,
    Field(String, CarriedField),
    Groups,
}

impl HintRound {
    /// A round for the node whose primary interface has this hardware address.
    #[must_use]
    pub fn new(mac: &str) -> Self {
        Self { primary: format!("{MACS}{mac}"), macs: BTreeSet::new(), asked: 0 }
    }

    /// The path of the next request.
    #[must_use]
    pub fn path(&self) -> String {
        match self.turn() {
            RoundTurn::List => MACS.to_owned(),
            RoundTurn::Ranges => format!("{}/vpc-ipv4-cidr-blocks", self.primary),
            RoundTurn::Field(mac, field) => format!("{MACS}{mac}/{}", field.name()),
            RoundTurn::Groups => format!("{}/security-group-ids", self.primary),
        }
    }

    /// Takes in the lines of the answer to it; returns what that says.
    pub fn heard(&mut self, lines: BTreeSet<String>) -> Option<Hint> {
        let turn = self.turn();
        self.asked = self.asked.wrapping_add(1);
        match turn {
            RoundTurn::Field(mac, field) => Some(Hint::Shown(ShownPart::Field { mac, field, values: lines })),
            // Every instance has some: an empty answer says nothing.
            _ if lines.is_empty() => None,
            RoundTurn::Ranges => Some(Hint::Ranges(lines)),
            RoundTurn::Groups => Some(Hint::Groups(lines)),
            RoundTurn::List => {
                self.macs = lines.iter().map(|mac| mac.trim_end_matches('/').to_owned()).collect();
                Some(Hint::Shown(ShownPart::Interfaces(self.macs.clone())))
            }
        }
    }

    fn turn(&self) -> RoundTurn {
        match self.asked % 4 {
            1 => RoundTurn::Ranges,
            2 => self.field().map_or(RoundTurn::List, |(mac, field)| RoundTurn::Field(mac, field)),
            3 => RoundTurn::Groups,
            _ => RoundTurn::List,
        }
    }

    /// The interface and the field whose turn it is; `None` while no interface is known.
    fn field(&self) -> Option<(String, CarriedField)> {
        let fields = CarriedField::ALL;
        let number = (self.asked / 4).checked_rem(self.macs.len().saturating_mul(fields.len()))?;
        let mac = self.macs.iter().nth(number / fields.len())?;
        Some((mac.clone(), *fields.get(number % fields.len())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|line| (*line).to_owned()).collect()
    }

    /// The answer of a service whose interfaces have one address.
    fn answer(path: &str, macs: &[&str], address: &str) -> BTreeSet<String> {
        match path {
            MACS => lines(macs),
            _ if path.ends_with("/vpc-ipv4-cidr-blocks") => lines(&["10.0.0.0/16"]),
            _ if path.ends_with("/security-group-ids") => lines(&["sg-1"]),
            _ => lines(&[address]),
        }
    }

    #[test]
    fn each_field_has_its_turn_and_ranges_and_groups_every_fourth_request() {
        let (mut round, mut paths) = (HintRound::new("02:01"), Vec::new());
        for _ in 0..24 {
            let path = round.path();
            round.heard(answer(&path, &["02:01/", "02:02/"], "10.0.0.5"));
            paths.push(path);
        }
        let every_fourth = |from: usize| paths.iter().skip(from).step_by(4).collect::<BTreeSet<_>>();
        assert_eq!(every_fourth(0), [&MACS.to_owned()].into());
        assert_eq!(every_fourth(1), [&format!("{MACS}02:01/vpc-ipv4-cidr-blocks")].into());
        assert_eq!(every_fourth(3), [&format!("{MACS}02:01/security-group-ids")].into());
        let fields = every_fourth(2);
        assert_eq!(fields.len(), 6, "{fields:?}");
        assert!(fields.contains(&format!("{MACS}02:02/ipv4-prefix")));
    }

    #[test]
    fn each_answer_is_told_unless_it_says_nothing() {
        let mut round = HintRound::new("02:01");
        let hints: Vec<_> = (0..4)
            .filter_map(|_| {
                let path = round.path();
                round.heard(answer(&path, &["02:01/"], "10.0.0.5"))
            })
            .collect();
        let (mac, values) = ("02:01".to_owned(), lines(&["10.0.0.5"]));
        let expected = [
            Hint::Shown(ShownPart::Interfaces(lines(&["02:01"]))),
            Hint::Ranges(lines(&["10.0.0.0/16"])),
            Hint::Shown(ShownPart::Field { mac, field: CarriedField::Addresses, values }),
            Hint::Groups(lines(&["sg-1"])),
        ];
        assert_eq!(hints, expected);
        // An interface may have no prefix; that there is no interface cannot be.
        let empty: Vec<_> = (0..4).filter_map(|_| round.heard(BTreeSet::new())).collect();
        assert!(matches!(empty.as_slice(), [Hint::Shown(ShownPart::Field { .. })]), "{empty:?}");
    }
}
