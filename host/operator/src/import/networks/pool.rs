//! The AddressPool that has the addresses of a NetworkAttachmentDefinition; pure.

use ipnet::IpNet;
use serde_json::{Map, Value, json};
use tenure_cluster::objects::delivery::GatewayEntry;
use tenure_leases::space::overlap;

use super::definition::Definition;
use super::problem::{MAX_EXCLUSIONS, NetworkProblem};
use super::range::{PodRange, address};

/// The file that whereabouts installs on each node.
const FLAT_FILE: &str = "/etc/cni/net.d/whereabouts.d/whereabouts.conf";

/// The overlap group of networks without a name.
const DEFAULT_GROUP: &str = "default";

/// The longest name of an overlap group.
const LONGEST_GROUP: usize = 63;

/// The addresses of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FamilyRange {
    pub(super) range: PodRange,
    pub(super) block_prefix: u8,
}

/// The settings of a pool. Definitions with equal ones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProposedSettings {
    pub(super) group: String,
    /// At most one of each family.
    pub(super) families: Vec<FamilyRange>,
    gateway: GatewayEntry,
}

impl ProposedSettings {
    /// The settings that a definition needs, on so many nodes.
    pub(super) fn of(definition: &Definition, nodes: usize) -> Result<Self, NetworkProblem> {
        let settings = &definition.settings;
        if !settings.addresses.is_empty() {
            return Err(NetworkProblem::StaticAddresses);
        }
        let mut families: Vec<FamilyRange> = Vec::new();
        for range in settings.all_ranges() {
            let range = PodRange::read(range)?;
            let is_v4 = |range: &PodRange| range.cidr.addr().is_ipv4();
            if let Some(known) = families.iter().find(|known| is_v4(&known.range) == is_v4(&range)) {
                return Err(NetworkProblem::SameFamily(known.range.cidr, range.cidr));
            }
            // whereabouts cuts the first range into slices, and no other.
            let slice = if families.is_empty() { settings.node_slice_size.as_str() } else { "" };
            let block_prefix = range.block_prefix(slice, nodes)?;
            families.push(FamilyRange { range, block_prefix });
        }
        if families.is_empty() {
            let path = Some(settings.configuration_path.as_str()).filter(|path| !path.is_empty());
            return Err(NetworkProblem::NoRange(path.unwrap_or(FLAT_FILE).to_owned()));
        }
        let exclusions = families.iter().map(|family| family.range.exclusions.len()).sum();
        if exclusions > MAX_EXCLUSIONS {
            return Err(NetworkProblem::Exclusions(exclusions));
        }
        let gateway = gateway(definition, &families)?;
        Ok(Self { group: group(&settings.network_name)?, families, gateway })
    }

    /// The first of its ranges that overlaps one of another pool, whichever their groups, and that one.
    pub(super) fn overlapping(&self, other: &Self) -> Option<(IpNet, IpNet)> {
        let all = self.cidrs().flat_map(|cidr| other.cidrs().map(move |other| (cidr, other)));
        all.into_iter().find(|(cidr, other)| overlap(*cidr, *other))
    }

    /// The CIDRs.
    pub(super) fn cidrs(&self) -> impl Iterator<Item = IpNet> {
        self.families.iter().map(|family| family.range.cidr)
    }

    /// The spec, disabled until an import has said which of its addresses are taken.
    pub(super) fn spec(&self) -> Value {
        let mut spec = Map::new();
        let mut set = |field: &str, value: Value| _ = spec.insert(field.to_owned(), value);
        set("disabled", true.into());
        set("gateway", json!(self.gateway));
        let mut exclusions = Vec::new();
        for FamilyRange { range: PodRange { cidr, exclusions: some }, block_prefix } in &self.families {
            let family = if cidr.addr().is_ipv4() { "ipv4" } else { "ipv6" };
            set(family, json!({ "cidrs": [cidr], "blockPrefix": block_prefix }));
            exclusions.extend_from_slice(some);
        }
        if !exclusions.is_empty() {
            set("exclusions", json!(exclusions));
        }
        if self.gateway.none == Some(true) {
            // As with the prefix length that whereabouts gives an address, all others of the range are on the link.
            set("routes", self.cidrs().map(|cidr| json!({ "dst": cidr })).collect());
        }
        if self.group != DEFAULT_GROUP {
            set("overlapGroup", self.group.as_str().into());
        }
        spec.into()
    }
}

/// The gateway. In a pool, it is of all families or of none: where a definition has one of one family alone, the other has its first address.
fn gateway(definition: &Definition, families: &[FamilyRange]) -> Result<GatewayEntry, NetworkProblem> {
    let text = definition.settings.gateway.as_str();
    if text.is_empty() && !definition.chooses_gateway {
        return Ok(GatewayEntry { none: Some(true), ..GatewayEntry::default() });
    }
    let given = (!text.is_empty()).then(|| address("gateway", text)).transpose()?;
    let is_of = |range: &PodRange| given.is_some_and(|given| range.cidr.contains(&given));
    if let Some(given) = given.filter(|_| !families.iter().any(|family| is_of(&family.range))) {
        return Err(NetworkProblem::Gateway(given));
    }
    let mut entry = GatewayEntry::default();
    for FamilyRange { range, .. } in families {
        let address = given.filter(|_| is_of(range)).unwrap_or_else(|| range.first_host());
        let field = if address.is_ipv4() { &mut entry.ipv4 } else { &mut entry.ipv6 };
        *field = Some(address.to_string());
    }
    Ok(entry)
}

/// The overlap group of a network of whereabouts: it gives no address twice in networks of one name, nor in those without.
fn group(name: &str) -> Result<String, NetworkProblem> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match name {
        "" => Ok(DEFAULT_GROUP.to_owned()),
        _ if name.len() <= LONGEST_GROUP
            && name.bytes().all(is_part)
            && !name.starts_with('-')
            && !name.ends_with('-') =>
        {
            Ok(name.to_owned())
        }
        _ => Err(NetworkProblem::Group(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ObjectMeta;

    use super::super::settings::WhereaboutsSettings;
    use super::*;

    fn settings(plugin: &Value, ipam: &Value) -> Result<ProposedSettings, String> {
        let mut config = json!({ "name": "lab", "ipam": { "type": "whereabouts" } });
        config.as_object_mut().unwrap().extend(plugin.as_object().cloned().unwrap());
        config["ipam"].as_object_mut().unwrap().extend(ipam.as_object().cloned().unwrap());
        let (text, flat) = (config.to_string(), WhereaboutsSettings::default());
        let found = Definition::read("a/lab".to_owned(), ObjectMeta::default(), &text, &flat).unwrap();
        ProposedSettings::of(&found.unwrap(), 3).map_err(|problem| problem.to_string())
    }

    fn spec(plugin: &Value, ipam: &Value) -> Value {
        settings(plugin, ipam).unwrap().spec()
    }

    #[test]
    fn both_families_are_one_pool_and_slices_are_its_blocks() {
        let ipam = json!({
            "ipRanges": [{ "range": "10.1.0.0/16", "exclude": ["10.1.0.0/28"] }, { "range": "fd00::/112" }],
            "node_slice_size": "/22", "network_name": "lab-1", "gateway": "10.1.0.254",
        });
        assert_eq!(
            spec(&json!({}), &ipam),
            json!({
                "disabled": true, "overlapGroup": "lab-1", "exclusions": [{ "cidr": "10.1.0.0/28" }],
                "ipv4": { "cidrs": ["10.1.0.0/16"], "blockPrefix": 22 },
                "ipv6": { "cidrs": ["fd00::/112"], "blockPrefix": 122 },
                "gateway": { "ipv4": "10.1.0.254", "ipv6": "fd00::1" },
            })
        );
    }

    #[test]
    fn without_a_gateway_the_range_is_on_the_link_unless_a_bridge_is_the_gateway() {
        let ipam = json!({ "range": "10.1.0.0/16" });
        let alone = spec(&json!({}), &ipam);
        assert_eq!(
            (&alone["gateway"], &alone["routes"]),
            (&json!({ "none": true }), &json!([{ "dst": "10.1.0.0/16" }]))
        );
        let bridged = spec(&json!({ "isGateway": true }), &ipam);
        assert_eq!((&bridged["gateway"], &bridged["routes"]), (&json!({ "ipv4": "10.1.0.1" }), &Value::Null));
    }

    #[test]
    fn what_a_pool_cannot_be_is_said() {
        let words = |ipam: Value| settings(&json!({}), &ipam).unwrap_err();
        let none = words(json!({ "configuration_path": "/etc/w.conf" }));
        assert_eq!(none, "it has no range; give the file that has it, such as /etc/w.conf, by --flat-file");
        assert!(words(json!({})).contains("such as /etc/cni/net.d/whereabouts.d/whereabouts.conf"));
        let two = words(json!({ "range": "10.1.0.0/16", "ipRanges": [{ "range": "10.2.0.0/16" }] }));
        assert!(two.starts_with("its ranges 10.1.0.0/16 and 10.2.0.0/16 are of one family"), "{two}");
        let fixed = words(json!({ "addresses": [{ "address": "10.1.0.1/24" }] }));
        assert!(fixed.starts_with("its ipam.addresses gives all pods the same"), "{fixed}");
        let elsewhere = words(json!({ "range": "10.1.0.0/16", "gateway": "10.0.0.1" }));
        assert!(elsewhere.starts_with("its gateway 10.0.0.1 is in none of its ranges"), "{elsewhere}");
        let unread = words(json!({ "range": "10.1.0.0/16", "gateway": "first" }));
        assert_eq!(unread, "its gateway \"first\" is not an address");
        for name in ["Lab", "-lab", "lab.1", "l".repeat(64).as_str()] {
            let words = words(json!({ "range": "10.1.0.0/16", "network_name": name }));
            assert!(words.contains("cannot be an overlap group"), "{words}");
        }
    }
}
