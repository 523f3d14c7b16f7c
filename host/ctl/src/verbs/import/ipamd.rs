//! Import from ipamd's checkpoint.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use tenure_rpc::v1::ImportEntry;
use tenure_types::Error;

use super::found::Found;
use crate::report::{FoundAttachment, PassedOver};
use crate::verbs::file::{malformed, unreadable};
use crate::verbs::ipamd::{Checkpoint, VERSION};

/// The next step where the file is not what ipamd writes.
const CHECKPOINT: &str = "pass ipamd's checkpoint, usually /var/run/aws-node/ipam.json";

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Reads a checkpoint. `network`, if given, replaces the network names in the file; ipamd knows only one network.
pub(in crate::verbs) fn read(file: &Path, network: Option<&str>) -> Result<Found, Error> {
    let text = fs::read(file).map_err(|error| unreadable(file, &error))?;
    let Checkpoint { version, allocations } =
        serde_json::from_slice(&text).map_err(|error| malformed(file, &error).to_be_solved_by(CHECKPOINT))?;
    if version != VERSION {
        let error = unreadable(file, &format_args!("version {version:?} is not {VERSION:?}"));
        return Err(error.to_be_solved_by(CHECKPOINT));
    }
    let mut found = Found::default();
    found.networks.extend(network.map(str::to_owned));
    for (index, row) in allocations.into_iter().enumerate() {
        let addresses: Vec<String> =
            [row.ipv4, row.ipv6].into_iter().filter(|text| !text.is_empty()).collect();
        if addresses.is_empty() {
            let what = format!("{}: allocation {index}, of {}", file.display(), row.container_id);
            found.passed_over.push(PassedOver { what, why: "it has no address".to_owned() });
            continue;
        }
        // Somebody may use an address that cannot be read, so the file is not imported in part.
        if let Some(broken) = addresses.iter().find(|text| text.parse::<IpAddr>().is_err()) {
            let why =
                format_args!("allocation {index}, of {}: {broken:?} is not an IP address", row.container_id);
            return Err(unreadable(file, &why));
        }
        let claim = row.allocation_timestamp.map_or_else(String::new, |at| at.to_string());
        let claimed_at = row.allocation_timestamp.and_then(|at| u64::try_from(at).ok());
        let claimed_at_ms = claimed_at.unwrap_or_default() / MILLISECOND;
        let entry = ImportEntry {
            claims: vec![claim; addresses.len()],
            container_id: row.container_id,
            interface: row.if_name,
            addresses,
            pod_namespace: row.metadata.namespace,
            pod_name: row.metadata.name,
            claimed_at_ms,
            ..ImportEntry::default()
        };
        let network = network.map_or(row.network_name, str::to_owned);
        found.networks.insert(network.clone());
        found.entries.push(FoundAttachment { network, entry });
    }
    // Group by network; a stable sort keeps the file's order within each.
    found.entries.sort_by(|one, other| one.network.cmp(&other.network));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, network: Option<&str>) -> Result<Found, Error> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ipam.json");
        fs::write(&file, text).unwrap();
        read(&file, network)
    }

    #[test]
    fn what_ipamd_left_is_read() {
        let text = r#"{"version": "vpc-cni-ipam/1", "allocations": [
            {"networkName": "aws-cni", "containerID": "c1", "ifName": "eth0", "ipv4": "10.0.1.7",
             "allocationTimestamp": 1700000000000000000, "metadata": {"k8sPodNamespace": "default", "k8sPodName": "web-1"}},
            {"networkName": "aws-cni", "containerID": "c2", "ifName": "eth0", "ipv6": "fd00::1", "metadata": {}},
            {"networkName": "aws-cni", "containerID": "c3", "ifName": "eth0"}]}"#;
        let found = read_text(text, None).unwrap();
        let web = ImportEntry {
            container_id: "c1".into(),
            interface: "eth0".into(),
            addresses: vec!["10.0.1.7".into()],
            pod_namespace: "default".into(),
            pod_name: "web-1".into(),
            claims: vec!["1700000000000000000".into()],
            claimed_at_ms: 1_700_000_000_000,
            ..ImportEntry::default()
        };
        assert_eq!(found.entries[0], FoundAttachment { network: "aws-cni".into(), entry: web });
        assert_eq!(found.entries[1].entry.addresses, ["fd00::1"]);
        assert_eq!((found.entries.len(), found.passed_over.len()), (2, 1));
        assert_eq!(read_text(text, Some("pods")).unwrap().entries[0].network, "pods");
    }

    #[test]
    fn what_is_not_ipamds_is_refused() {
        let error = read_text("no", None).unwrap_err();
        assert!(error.cause.contains(": it is not JSON: "), "{error}");
        assert_eq!(error.next_step(), CHECKPOINT);
        let broken =
            r#"{"version": "vpc-cni-ipam/1", "allocations": [{"containerID": "c1", "ipv4": "10.0.1"}]}"#;
        for wrong in ["", "[]", r#"{"version": "vpc-cni-ipam/2"}"#, broken] {
            assert!(read_text(wrong, None).is_err(), "{wrong}");
        }
    }
}
