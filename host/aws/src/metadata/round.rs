//! The order in which the metadata service is asked what has changed: one request at a time, so that a node at rest makes few.
//!
//! ```text
//! the list of interfaces ─▶ the VPC's ranges ─▶ a field of an interface ─▶ the security groups ─▶ the list ─▶ .. the next field ..
//! ```
//!
//! Every fourth request is the same, so that a changed range or group is known within four requests; the fields of all interfaces have their
//! turn one after the other. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::imds::{CARRIED, MACS};

/// The requests, and what the service answered last.
#[derive(Debug)]
pub struct HintRound {
    /// The directory of the primary interface.
    primary: String,
    macs: Option<BTreeSet<String>>,
    fields: BTreeMap<String, BTreeSet<String>>,
    /// The number of requests that were answered.
    asked: usize,
}

/// News of the metadata service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// Interfaces have come or gone, or what they carry has changed since it was asked for last.
    Interfaces,
    /// The VPC has these ranges of IPv4, as before or not.
    Ranges(BTreeSet<String>),
    /// The primary interface has these security groups, as before or not.
    Groups(BTreeSet<String>),
}

/// A question of the round.
enum RoundTurn {
    List,
    Ranges,
    Field(String),
    Groups,
}

impl HintRound {
    /// A round for the node whose primary interface has this hardware address.
    #[must_use]
    pub fn new(mac: &str) -> Self {
        Self { primary: format!("{MACS}{mac}"), macs: None, fields: BTreeMap::new(), asked: 0 }
    }

    /// The path of the next request.
    #[must_use]
    pub fn path(&self) -> String {
        match self.turn() {
            RoundTurn::List => MACS.to_owned(),
            RoundTurn::Ranges => format!("{}/vpc-ipv4-cidr-blocks", self.primary),
            RoundTurn::Field(path) => path,
            RoundTurn::Groups => format!("{}/security-group-ids", self.primary),
        }
    }

    /// Takes in the lines of the answer to it; returns what that says.
    pub fn heard(&mut self, lines: BTreeSet<String>) -> Option<Hint> {
        let turn = self.turn();
        self.asked = self.asked.wrapping_add(1);
        match turn {
            // Every instance has some: an empty answer says nothing.
            RoundTurn::Ranges | RoundTurn::Groups if lines.is_empty() => None,
            RoundTurn::Ranges => Some(Hint::Ranges(lines)),
            RoundTurn::Groups => Some(Hint::Groups(lines)),
            RoundTurn::Field(path) => {
                let changed = self.fields.get(&path).is_some_and(|before| *before != lines);
                self.fields.insert(path, lines);
                changed.then_some(Hint::Interfaces)
            }
            RoundTurn::List => {
                self.fields
                    .retain(|path, _| lines.iter().any(|mac| path.contains(mac.trim_end_matches('/'))));
                let changed = self.macs.as_ref().is_some_and(|before| *before != lines);
                self.macs = Some(lines);
                changed.then_some(Hint::Interfaces)
            }
        }
    }

    fn turn(&self) -> RoundTurn {
        match self.asked % 4 {
            1 => RoundTurn::Ranges,
            2 => self.field().map_or(RoundTurn::List, RoundTurn::Field),
            3 => RoundTurn::Groups,
            _ => RoundTurn::List,
        }
    }

    /// The path of the field whose turn it is; `None` while no interface is known.
    fn field(&self) -> Option<String> {
        let macs = self.macs.as_ref().filter(|macs| !macs.is_empty())?;
        let number = self.asked / 4 % (macs.len() * CARRIED.len());
        let mac = macs.iter().nth(number / CARRIED.len())?.trim_end_matches('/');
        let field = CARRIED.get(number % CARRIED.len())?;
        Some(format!("{MACS}{mac}/{field}"))
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
        for _ in 0..32 {
            let path = round.path();
            let hint = round.heard(answer(&path, &["02:01/", "02:02/"], "10.0.0.5"));
            assert_ne!(hint, Some(Hint::Interfaces), "{path}");
            paths.push(path);
        }
        let every_fourth = |from: usize| paths.iter().skip(from).step_by(4).collect::<BTreeSet<_>>();
        assert_eq!(every_fourth(0), [&MACS.to_owned()].into());
        assert_eq!(every_fourth(1), [&format!("{MACS}02:01/vpc-ipv4-cidr-blocks")].into());
        assert_eq!(every_fourth(3), [&format!("{MACS}02:01/security-group-ids")].into());
        let fields = every_fourth(2);
        assert_eq!(fields.len(), 8, "{fields:?}");
        assert!(fields.contains(&format!("{MACS}02:02/ipv4-prefix")));
    }

    #[test]
    fn only_a_difference_is_news_of_the_interfaces() {
        let mut round = HintRound::new("02:01");
        let mut news = |address: &str, macs: &[&str]| {
            let hints = (0..64).filter_map(|_| {
                let path = round.path();
                round.heard(answer(&path, macs, address))
            });
            hints.filter(|hint| *hint == Hint::Interfaces).count()
        };
        assert_eq!(news("10.0.0.5", &["02:01/"]), 0);
        assert_eq!(news("10.0.0.5", &["02:01/", "02:02/"]), 1, "an interface has come");
        assert_eq!(news("10.0.0.6", &["02:01/", "02:02/"]), 8, "all fields have changed");
    }

    #[test]
    fn ranges_and_groups_are_told_each_time_unless_there_are_none() {
        let mut round = HintRound::new("02:01");
        let hints: Vec<_> = (0..4)
            .filter_map(|_| {
                let path = round.path();
                round.heard(answer(&path, &["02:01/"], "10.0.0.5"))
            })
            .collect();
        assert_eq!(hints, [Hint::Ranges(lines(&["10.0.0.0/16"])), Hint::Groups(lines(&["sg-1"]))]);
        assert!((0..4).all(|_| round.heard(BTreeSet::new()).is_none_or(|hint| hint == Hint::Interfaces)));
    }
}
