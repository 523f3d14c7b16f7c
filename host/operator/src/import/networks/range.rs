//! A range of whereabouts, as a CIDR of an AddressPool with exclusions.

use std::net::IpAddr;

use ipnet::IpNet;
use tenure_cluster::objects::node::ExclusionEntry;

use super::problem::NetworkProblem;
use super::settings::WhereaboutsRange;

/// The usual prefix lengths of blocks.
const USUAL_BLOCK: (u8, u8) = (26, 122);

/// The bits that a block may be longer than its CIDR.
const MOST_BITS: u8 = 16;

/// A range from which each pod gets an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodRange {
    pub(super) cidr: IpNet,
    pub(super) exclusions: Vec<ExclusionEntry>,
}

impl PodRange {
    /// Reads a range. The first and the last address of a CIDR are handed out by neither.
    pub(super) fn read(settings: &WhereaboutsRange) -> Result<Self, NetworkProblem> {
        let text = settings.range.as_str();
        let malformed = || NetworkProblem::Range(text.to_owned());
        let (start, end, range) = match text.split_once('-') {
            Some((first, range)) => (Some(first), Some(range.split('/').next().unwrap_or_default()), range),
            None => (
                Some(settings.range_start.as_str()).filter(|start| !start.is_empty()),
                Some(settings.range_end.as_str()).filter(|end| !end.is_empty()),
                text,
            ),
        };
        let cidr = range.trim().parse::<IpNet>().map_err(|_| malformed())?.trunc();
        let (lowest, highest) = (cidr.network(), cidr.broadcast());
        let first = start.map_or(Ok(lowest), |start| address("range_start", start))?;
        let last = end.map_or(Ok(highest), |end| address("range_end", end))?;
        if !cidr.contains(&first) || !cidr.contains(&last) || first > last {
            return Err(NetworkProblem::Ends { cidr, first, last });
        }
        let mut exclusions = Vec::new();
        if first > moved(lowest, 1) {
            exclusions.push(run(lowest, moved(first, -1)));
        }
        if last < moved(highest, -1) {
            exclusions.push(run(moved(last, 1), highest));
        }
        for text in &settings.exclude {
            exclusions.extend(excluded(cidr, text)?);
        }
        match exclusions.len() {
            count if count > super::problem::MAX_EXCLUSIONS => Err(NetworkProblem::Exclusions(count)),
            _ => Ok(Self { cidr, exclusions }),
        }
    }

    /// The address that a bridge takes for the gateway of the range if it has to have one.
    pub(super) fn first_host(&self) -> IpAddr {
        moved(self.cidr.network(), 1)
    }

    /// The prefix length of blocks: that of a node's slice, or else one with which each node can have a block.
    pub(super) fn block_prefix(&self, slice: &str, nodes: usize) -> Result<u8, NetworkProblem> {
        let (shortest, whole) = (self.cidr.prefix_len(), self.cidr.max_prefix_len());
        let longest = whole.min(shortest.saturating_add(MOST_BITS));
        if !slice.is_empty() {
            let length = slice.trim_start_matches('/').parse().ok();
            let length = length.filter(|length| (shortest..=longest).contains(length));
            return length.ok_or_else(|| NetworkProblem::Slice(slice.to_owned(), self.cidr));
        }
        let usual = if self.cidr.addr().is_ipv4() { USUAL_BLOCK.0 } else { USUAL_BLOCK.1 };
        let bits = usize::BITS - nodes.saturating_sub(1).leading_zeros();
        let enough = shortest.saturating_add(u8::try_from(bits).unwrap_or(MOST_BITS));
        // A block of fewer than four addresses has none for a pod.
        let useful = longest.min(whole - 2).max(shortest);
        Ok(usual.max(enough).min(useful).max(shortest))
    }
}

/// An exclusion, as far as it concerns a range.
fn excluded(cidr: IpNet, text: &str) -> Result<Option<ExclusionEntry>, NetworkProblem> {
    let net = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let net = net.map_err(|_| NetworkProblem::Exclusion(text.to_owned()))?.trunc();
    if net.contains(&cidr) {
        return Err(NetworkProblem::AllExcluded(net, cidr));
    }
    let entry = ExclusionEntry { cidr: Some(net.to_string()), start: None, end: None };
    Ok(cidr.contains(&net).then_some(entry))
}

fn run(first: IpAddr, last: IpAddr) -> ExclusionEntry {
    ExclusionEntry { cidr: None, start: Some(first.to_string()), end: Some(last.to_string()) }
}

pub(super) fn address(what: &'static str, text: &str) -> Result<IpAddr, NetworkProblem> {
    text.trim().parse().map_err(|_| NetworkProblem::Address(what, text.to_owned()))
}

/// The address after or before another; at the end of all addresses, that one.
fn moved(address: IpAddr, by: i8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            IpAddr::V4(u32::from(address).checked_add_signed(by.into()).map_or(address, Into::into))
        }
        IpAddr::V6(address) => {
            IpAddr::V6(u128::from(address).checked_add_signed(by.into()).map_or(address, Into::into))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(range: &str, ends: [&str; 2], exclude: &[&str]) -> Result<PodRange, String> {
        let settings = WhereaboutsRange {
            range: range.to_owned(),
            range_start: ends[0].to_owned(),
            range_end: ends[1].to_owned(),
            exclude: exclude.iter().map(|&text| text.to_owned()).collect(),
        };
        PodRange::read(&settings).map_err(|problem| problem.to_string())
    }

    fn shown(range: &str, ends: [&str; 2], exclude: &[&str]) -> (String, Vec<String>) {
        let PodRange { cidr, exclusions } = read(range, ends, exclude).unwrap();
        let text = |entry: ExclusionEntry| {
            entry.cidr.unwrap_or_else(|| format!("{}-{}", entry.start.unwrap(), entry.end.unwrap()))
        };
        (cidr.to_string(), exclusions.into_iter().map(text).collect())
    }

    #[test]
    fn ends_and_excluded_addresses_are_exclusions() {
        let row = |cidr: &str, exclusions: &[&str]| {
            (cidr.to_owned(), exclusions.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(shown("10.1.0.77/24", ["", ""], &[]), row("10.1.0.0/24", &[]));
        assert_eq!(shown("10.1.0.0/24", ["10.1.0.1", "10.1.0.254"], &[]), row("10.1.0.0/24", &[]));
        let ends = &["10.1.0.0-10.1.0.9", "10.1.0.21-10.1.0.255"];
        assert_eq!(shown("10.1.0.0/24", ["10.1.0.10", "10.1.0.20"], &[]), row("10.1.0.0/24", ends));
        assert_eq!(shown("10.1.0.10-10.1.0.20/24", ["", ""], &[]), row("10.1.0.0/24", ends));
        let excluded = &["10.1.0.16/28", "10.1.0.1/32"];
        // What is not of the range excludes nothing of it.
        let exclude = &["10.1.0.17/28", "10.1.0.1", "10.9.0.0/16", "fd00::/64"];
        assert_eq!(shown("10.1.0.0/24", ["", ""], exclude), row("10.1.0.0/24", excluded));
        assert_eq!(shown("fd00::/112", ["fd00::10", ""], &[]), row("fd00::/112", &["fd00::-fd00::f"]));
    }

    #[test]
    fn what_is_no_range_is_said() {
        let words = |range, ends, exclude: &[&str]| read(range, ends, exclude).unwrap_err();
        let neither = "is neither a CIDR nor FIRST-LAST/PREFIX";
        assert!(words("10.1.0.0", ["", ""], &[]).contains(neither));
        assert!(words("10.1.0.1-10.1.0.9", ["", ""], &[]).contains(neither));
        assert_eq!(
            words("10.1.0.0/24", ["10.1.1.1", ""], &[]),
            "its range 10.1.0.0/24 does not have 10.1.1.1 to 10.1.0.255"
        );
        assert!(words("10.1.0.9-10.1.0.1/24", ["", ""], &[]).contains("does not have 10.1.0.9 to 10.1.0.1"));
        assert_eq!(words("10.1.0.0/24", ["first", ""], &[]), "its range_start \"first\" is not an address");
        assert_eq!(
            words("10.1.0.0/24", ["", ""], &["10.1"]),
            "its exclude \"10.1\" is neither a CIDR nor an address"
        );
        assert_eq!(
            words("10.1.0.0/24", ["", ""], &["10.0.0.0/8"]),
            "its exclude 10.0.0.0/8 leaves nothing of its range 10.1.0.0/24"
        );
        let many: Vec<String> = (0..65).map(|last| format!("10.1.0.{last}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(words("10.1.0.0/24", ["", ""], &many).contains("it has 65 exclusions"));
    }

    #[test]
    fn blocks_are_small_enough_for_each_node_to_have_one() {
        let prefix = |range, slice, nodes| read(range, ["", ""], &[]).unwrap().block_prefix(slice, nodes);
        assert_eq!(prefix("10.0.0.0/16", "", 3), Ok(26));
        assert_eq!(prefix("10.0.0.0/24", "", 5), Ok(27));
        assert_eq!(prefix("10.0.0.0/28", "", 100), Ok(30));
        assert_eq!(prefix("10.0.0.0/8", "", 3), Ok(24));
        assert_eq!(prefix("10.0.0.0/32", "", 3), Ok(32));
        assert_eq!(prefix("fd00::/64", "", 3), Ok(80));
        assert_eq!(prefix("fd00::/112", "", 0), Ok(122));
        assert_eq!(prefix("10.0.0.0/16", "/22", 500), Ok(22));
        assert_eq!(prefix("10.0.0.0/16", "24", 0), Ok(24));
        for slice in ["/15", "/33", "/", "x"] {
            let words = prefix("10.0.0.0/16", slice, 3).unwrap_err().to_string();
            assert!(words.contains("is not a prefix length that 10.0.0.0/16 can be cut into"), "{words}");
        }
    }
}
