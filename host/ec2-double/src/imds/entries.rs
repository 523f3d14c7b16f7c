//! All that a metadata service has, as paths with texts. A directory is what paths below it make it.

use std::collections::BTreeMap;
use std::fmt::Display;

use ipnet::{Ipv4Net, Ipv6Net};
use serde_json::json;

use super::credentials;
use crate::state::{Account, Instance, Interface, Platform, Shown, State, Status, Subnet, Time};

/// The paths, without the slash in front. A directory that has no fields ends in a slash and has no text.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: BTreeMap<String, Option<String>>,
}

/// The path below which most entries are.
const DATA: &str = "latest/meta-data";

impl Entries {
    /// The entries of an instance's metadata service. `is_away` hides flapping interfaces.
    pub(super) fn of(instance: &str, state: &State, now: Time, is_away: bool, wall_clock: i64) -> Self {
        let mut entries = Self::default();
        let seen = state.consistency.imds(instance, now);
        let Some(known) = state.instances().get(instance) else { return entries };
        entries.instance(known, state, seen, wall_clock);
        let on_it = state.interfaces().all_at(seen).filter(|interface| {
            interface.attachment.as_ref().is_some_and(|attachment| attachment.instance == instance)
        });
        for interface in on_it {
            let shows = &state.consistency.imds_shows;
            let shown = shows.get(&interface.id).or_else(|| shows.get(&interface.mac));
            let directory = format!("{DATA}/network/interfaces/macs/{}", interface.mac);
            match shown {
                Some(Shown::Missing) => {}
                Some(Shown::Flapping) if is_away => {}
                Some(Shown::NoFields) => entries.directory(&directory),
                // While attaching, the directory comes before its fields; while detaching, it goes after them.
                _ if matches!(interface.status, Status::Attaching | Status::Detaching) => {
                    entries.directory(&directory);
                }
                _ => entries.interface(&directory, interface, known, state),
            }
        }
        entries
    }

    /// The text of a path: a field, or a directory's list.
    pub(super) fn get(&self, path: &str) -> Option<String> {
        let path = path.trim_start_matches('/');
        if let Some(Some(text)) = self.all.get(path) {
            return Some(text.clone());
        }
        let path = path.trim_end_matches('/');
        let directory = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.all.keys().filter_map(|known| known.strip_prefix(&directory));
        let mut names: Vec<String> = below
            .map(|rest| rest.split_once('/').map_or_else(|| rest.to_owned(), |(name, _)| format!("{name}/")))
            .collect();
        let is_known = !names.is_empty();
        names.retain(|name| !name.is_empty());
        names.dedup();
        // A directory whose fields are missing is listed by its parent, and is not there when it is asked for.
        (is_known && !names.is_empty()).then(|| names.join("\n"))
    }

    fn instance(&mut self, known: &Instance, state: &State, seen: Time, wall_clock: i64) {
        let account = &state.account;
        let field = |name: &str| format!("{DATA}/{name}");
        self.set(field("ami-id"), "ami-0d0b1e");
        self.set(field("instance-id"), &known.id);
        self.set(field("instance-type"), known.kind.name);
        self.set(field("placement/availability-zone"), &known.zone);
        self.set(field("placement/region"), &account.region);
        self.set(field("services/domain"), "amazonaws.com");
        self.set(field("services/partition"), "aws");
        self.set(
            field(&format!("iam/security-credentials/{}", credentials::ROLE)),
            credentials::document(&known.id, wall_clock),
        );
        let mut address = String::new();
        if let Some(primary) = state.interfaces().get_at(&known.primary, seen) {
            self.set(field("mac"), &primary.mac);
            self.set_some(field("local-ipv4"), primary.primary());
            self.set_some(field("ipv6"), primary.ipv6.first());
            self.lines(field("security-groups"), primary.groups.iter().map(|group| format!("group {group}")));
            address = primary.primary().map(|address| address.to_string()).unwrap_or_default();
        }
        let document = json!({
            "accountId": account.id,
            "availabilityZone": known.zone,
            "instanceId": known.id,
            "instanceType": known.kind.name,
            "privateIp": address,
            "region": account.region,
            "version": "2017-09-30",
        });
        self.set("latest/dynamic/instance-identity/document".to_owned(), format!("{document:#}"));
    }

    fn interface(&mut self, directory: &str, interface: &Interface, known: &Instance, state: &State) {
        let Account { id: owner, vpc, cidrs, ipv6_cidrs, .. } = &state.account;
        let field = |name: &str| format!("{directory}/{name}");
        self.set_some(
            field("device-number"),
            interface.attachment.as_ref().map(|attachment| attachment.device),
        );
        if known.kind.platform != Platform::Xen {
            self.set_some(
                field("network-card"),
                interface.attachment.as_ref().map(|attachment| attachment.card),
            );
        }
        self.set(field("interface-id"), &interface.id);
        self.set(field("mac"), &interface.mac);
        self.set(field("owner-id"), owner);
        self.set(field("subnet-id"), &interface.subnet);
        self.set(field("vpc-id"), vpc);
        self.lines(field("security-group-ids"), &interface.groups);
        // The interface's own address comes first; the others have no order.
        let others = interface.ipv4.iter().skip(1).rev();
        self.lines(field("local-ipv4s"), interface.ipv4.first().into_iter().chain(others));
        self.lines(field("ipv4-prefix"), &interface.ipv4_prefixes);
        self.lines(field("ipv6s"), &interface.ipv6);
        self.lines(field("local-ipv6s"), &interface.ipv6);
        self.lines(field("ipv6-prefix"), &interface.ipv6_prefixes);
        let subnet: Option<&Subnet> = state.subnets().get(&interface.subnet);
        self.set_some(field("subnet-ipv4-cidr-block"), subnet.map(|subnet| subnet.cidr));
        self.lines(field("subnet-ipv6-cidr-blocks"), subnet.and_then(|subnet| subnet.ipv6));
        self.set_some(field("vpc-ipv4-cidr-block"), cidrs.first());
        self.lines::<&Ipv4Net>(field("vpc-ipv4-cidr-blocks"), cidrs);
        self.lines::<&Ipv6Net>(field("vpc-ipv6-cidr-blocks"), ipv6_cidrs);
    }

    fn set(&mut self, path: String, text: impl Display) {
        self.all.insert(path, Some(text.to_string()));
    }

    fn set_some(&mut self, path: String, text: Option<impl Display>) {
        if let Some(text) = text {
            self.set(path, text);
        }
    }

    /// One line each; without any, there is no such field.
    fn lines<T: Display>(&mut self, path: String, lines: impl IntoIterator<Item = T>) {
        let lines: Vec<String> = lines.into_iter().map(|line| line.to_string()).collect();
        if !lines.is_empty() {
            self.set(path, lines.join("\n"));
        }
    }

    fn directory(&mut self, path: &str) {
        self.all.insert(format!("{path}/"), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_what_is_below_them() {
        let mut entries = Entries::default();
        entries.set("latest/meta-data/mac".to_owned(), "02:00");
        entries.set("latest/meta-data/network/interfaces/macs/02:00/interface-id".to_owned(), "eni-1");
        entries.directory("latest/meta-data/network/interfaces/macs/02:01");
        let get = |path: &str| entries.get(path);
        assert_eq!(get("/latest/meta-data/").as_deref(), Some("mac\nnetwork/"));
        assert_eq!(get("/latest/meta-data/network/interfaces/macs").as_deref(), Some("02:00/\n02:01/"));
        assert_eq!(get("/latest/meta-data/network/interfaces/macs/02:00").as_deref(), Some("interface-id"));
        assert_eq!(get("/latest/meta-data/network/interfaces/macs/02:01/interface-id"), None);
        assert_eq!(get("/latest/meta-data/mac").as_deref(), Some("02:00"));
        assert_eq!((get("/latest/meta-data/ma"), get("/")), (None, Some("latest/".to_owned())));
    }
}
