//! The interfaces of this node in the metadata service: all fields of each, in a form that EC2's answers have, too.
//!
//! While an interface comes or goes, its directory is there without fields; then it is left out. So is one without addresses, as those of type
//! `efa-only` are: no pod could use it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::imds::{Imds, MACS};
use super::{AttachedInterfaces, InstanceMetadata, MetadataError, Read};
use crate::identity::Identity;
use crate::port::{Attachment, Ec2Interface, Ec2Subnet, Status};

/// The addresses of a subnet that EC2 keeps for itself.
const RESERVED: u32 = 5;

impl Imds {
    /// Reads the interfaces one after the other.
    async fn read_attached(&self) -> Result<AttachedInterfaces, MetadataError> {
        let instance = self.instance().await?;
        let mut attached = AttachedInterfaces::default();
        for mac in self.lines(MACS).await? {
            let directory = format!("{MACS}{}", mac.trim_end_matches('/'));
            let Some((interface, subnet)) = self.interface(&directory, &instance).await? else { continue };
            if attached.subnets.iter().all(|known| known.id != subnet.id) {
                attached.subnets.push(subnet);
            }
            attached.interfaces.push(interface);
        }
        Ok(attached)
    }

    /// An interface and its subnet; `None` while it is not completely there.
    async fn interface(
        &self,
        directory: &str,
        instance: &str,
    ) -> Result<Option<(Ec2Interface, Ec2Subnet)>, MetadataError> {
        let field = |name: &str| format!("{directory}/{name}");
        let addresses: Vec<IpAddr> = self.parsed(&field("local-ipv4s")).await?;
        let mut carries: Vec<IpNet> = addresses.iter().skip(1).map(|address| IpNet::from(*address)).collect();
        carries.extend(self.parsed::<IpNet>(&field("ipv4-prefix")).await?);
        carries.extend(self.parsed::<IpNet>(&field("ipv6-prefix")).await?);
        let mut ranges: Vec<IpNet> = self.parsed(&field("subnet-ipv4-cidr-block")).await?;
        ranges.extend(self.parsed::<IpNet>(&field("subnet-ipv6-cidr-blocks")).await?);
        let has_addresses = !addresses.is_empty() || !self.lines(&field("ipv6s")).await?.is_empty();
        let [mac, subnet, device, card] = [
            self.text(&field("mac")).await?,
            self.text(&field("subnet-id")).await?,
            self.text(&field("device-number")).await?,
            self.text(&field("network-card")).await?,
        ];
        let groups = self.lines(&field("security-group-ids")).await?;
        // Of two reads, the second may be of a moment at which another interface has the place: the last one names it.
        let id = self.text(&field("interface-id")).await?;
        let (Some(id), Some(mac), Some(subnet), Some(device), true) =
            (id, mac, subnet, device, has_addresses)
        else {
            return Ok(None);
        };
        let device = number(&field("device-number"), &device)?;
        // Types with one card do not say which.
        let card = card.map_or(Ok(0), |card| number(&field("network-card"), &card))?;
        let attachment = Attachment { instance: instance.to_owned(), card, device, ..Attachment::default() };
        let known = Ec2Subnet { id: subnet.clone(), available: most(&ranges), ranges, tags: BTreeMap::new() };
        let interface = Ec2Interface {
            id,
            subnet,
            mac: mac.to_ascii_lowercase(),
            description: String::new(),
            kind: "interface".to_owned(),
            status: Status::InUse,
            attachment: Some(attachment),
            primary_address: addresses.first().copied(),
            groups,
            carries,
            tags: BTreeMap::new(),
        };
        Ok(Some((interface, known)))
    }
}

impl InstanceMetadata for Imds {
    fn identity(&self) -> Read<'_, Identity> {
        Box::pin(self.read_identity())
    }

    fn attached(&self) -> Read<'_, AttachedInterfaces> {
        Box::pin(self.read_attached())
    }

    fn lines<'a>(&'a self, path: &'a str) -> Read<'a, BTreeSet<String>> {
        Box::pin(self.lines_once(path))
    }
}

fn number(path: &str, text: &str) -> Result<u32, MetadataError> {
    text.parse().map_err(|_| MetadataError::Invalid { path: path.to_owned(), value: text.to_owned() })
}

/// The most addresses of IPv4 that a subnet with these ranges can have.
fn most(ranges: &[IpNet]) -> u32 {
    let sizes = ranges.iter().filter(|range| range.addr().is_ipv4()).map(|range| {
        let bits = u32::from(range.max_prefix_len().saturating_sub(range.prefix_len()));
        1_u32.checked_shl(bits).unwrap_or(u32::MAX)
    });
    sizes.fold(0, u32::saturating_add).saturating_sub(RESERVED)
}
