//! The engine's port of links, over netlink: a pod's veth pair is made here, and the keeper of the datapath leads packets to it.
//!
//! The kernel's alias of a host end says whose allocation the link is, so that it is found again without a record. Calls about one link wait for each
//! other: what one is making must not look to another like something half left. Calls about different links share nothing, so that a pod whose steps hang holds up only itself.

use std::sync::Arc;

use tenure_engine::ports::{Answer, LinkKey, Links};
use tenure_netlink::{Error as Refusal, LinkDifference, LinkName, LinkTurns, Netns, PodLink};
use tenure_types::{
    Allocation, Attributes, Connected, Error, ErrorCode, Generation, Link, LinkEnd, NetworkName, Owner,
    PodIdentity, Result,
};

use crate::capabilities;
use crate::parts::DatapathResult;

/// How the names of host ends begin unless the network says otherwise, as ipamd's do.
const PREFIX: &str = "eni";

/// The default MTU of links, in bytes: one that every network carries.
const MTU: u32 = 1500;

/// The attributes of a definition that say how links are: how their names begin; and their MTU in bytes, of which the first that
/// is there counts.
const PREFIX_KEY: &str = "vethPrefix";
const MTU_KEYS: [&str; 2] = ["podMtu", "mtu"];

/// How the alias of each host end begins.
const ALIAS: &str = "tenure ";

/// The interface whose host end is named by the pod alone, as ipamd names it.
const FIRST: &str = "eth0";

/// The most differences that CHECK names.
const MOST_NAMED: usize = 16;

/// Links in the kernel of the network namespace that the daemon runs in.
pub(crate) struct KernelLinks {
    turns: LinkTurns,
    kept: Arc<DatapathResult>,
}

impl KernelLinks {
    pub(crate) fn new(kept: Arc<DatapathResult>) -> Self {
        Self { turns: LinkTurns::default(), kept }
    }

    async fn make(&self, allocation: &Allocation, is_new: bool) -> Result<()> {
        let link = pod_link(allocation)?;
        let (host, netns) = (link.host.clone(), allocation.netns().to_owned());
        let turn = self.turns.enter(&host).await.map_err(|refusal| told(&refusal))?;
        // In a task of its own, which ends it: an abandoned call must not leave half a link, which has no alias.
        let making = tokio::spawn(async move {
            let netns = Netns::open_in_turn(netns, &turn).await?;
            if is_new { link.make(&netns).await } else { link.restore(&netns).await }
        });
        let made = making.await.map_err(|error| Error::new(ErrorCode::Internal, error))?;
        made.map_err(|refusal| told(&refusal))?;
        if is_new {
            return self.kept.leads_to(host.as_str()).await;
        }
        // The pod's next request waits for this one, and nobody for its way: the link of its interface may be away for long.
        self.kept.ask();
        Ok(())
    }

    async fn compare(&self, allocation: &Allocation) -> Result<()> {
        let link = pod_link(allocation)?;
        let compared = async {
            let turn = self.turns.enter(&link.host).await?;
            link.check(&Netns::open_in_turn(allocation.netns(), &turn).await?).await
        };
        let differences = compared.await.map_err(|refusal| told(&refusal))?;
        if !differences.is_empty() {
            let all: Vec<String> =
                differences.iter().take(MOST_NAMED).map(LinkDifference::to_string).collect();
            return Err(Error::new(ErrorCode::LinkDiffers, all.join("; ")));
        }
        self.kept.leads_to(link.host.as_str()).await
    }

    async fn remove(&self, link: &LinkKey) -> Result<()> {
        let host = LinkName::new(&link.host).map_err(|refusal| told(&refusal))?;
        // A step that hangs is inside of the pod, and gives up what it is about before it goes on: it keeps no link from going.
        let turn = self.turns.enter(&host).await.ok();
        let removed = PodLink::remove(&host, &alias(&link.network, link.generation)).await;
        drop(turn);
        self.kept.ask();
        match removed {
            // A link that has the name now is not ours.
            Ok(()) | Err(Refusal::Taken(_)) => Ok(()),
            Err(refusal) => Err(told(&refusal)),
        }
    }
}

impl Links for KernelLinks {
    fn link(&self, owner: &Owner, pod: Option<&PodIdentity>, mtu: Option<u32>, network: &Attributes) -> Link {
        let prefix = network.get(PREFIX_KEY).unwrap_or(PREFIX);
        let of_network = || MTU_KEYS.iter().find_map(|key| network.get(key)?.parse().ok());
        let (container, interface) = match owner.attachment() {
            Some((container, interface)) => (container.as_str(), interface.as_str()),
            None => ("", ""),
        };
        // No pod's name has a slash, so no other pod's first interface has this name.
        let name = match pod {
            Some(pod) if interface == FIRST => LinkName::of(prefix, &pod.namespace, &pod.name),
            Some(pod) => LinkName::of(prefix, &pod.namespace, &format!("{}/{interface}", pod.name)),
            None => LinkName::of(prefix, container, &format!("/{interface}")),
        };
        let host = name.map_or_else(|_| prefix.into(), |name| name.as_str().into());
        Link { host, mtu: mtu.or_else(of_network).unwrap_or(MTU) }
    }

    fn describe(&self, allocation: &Allocation) -> Option<Connected> {
        let link = pod_link(allocation).ok()?;
        let end =
            |name: &str, mac: tenure_netlink::Mac| LinkEnd { name: name.to_owned(), mac: mac.to_string() };
        Some(Connected {
            host: end(link.host.as_str(), link.host.mac()),
            inside: end(&link.inside, link.host.inside()),
            mtu: link.mtu,
            netns: allocation.netns().into(),
            gateways: link.gateways(),
        })
    }

    fn connect<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()> {
        Box::pin(self.make(allocation, true))
    }

    fn restore<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()> {
        Box::pin(self.make(allocation, false))
    }

    fn check<'a>(&'a self, allocation: &'a Allocation) -> Answer<'a, ()> {
        Box::pin(self.compare(allocation))
    }

    fn disconnect<'a>(&'a self, link: &'a LinkKey) -> Answer<'a, ()> {
        Box::pin(self.remove(link))
    }

    fn list(&self) -> Answer<'_, Vec<LinkKey>> {
        Box::pin(async {
            // Without the capabilities there is nothing to be done about them, and the unit allows no netlink.
            capabilities::check()?;
            let shown = PodLink::list().await.map_err(|refusal| told(&refusal))?;
            Ok(shown.iter().filter_map(|(host, alias)| key(host, alias)).collect())
        })
    }

    fn health(&self) -> Result<()> {
        capabilities::check()?;
        self.kept.health()
    }
}

/// The link that an allocation has.
fn pod_link(allocation: &Allocation) -> Result<PodLink> {
    let none = || Error::new(ErrorCode::Internal, "the allocation has no link");
    let link = allocation.link().ok_or_else(none)?;
    let (_, interface) = allocation.owner.attachment().ok_or_else(none)?;
    Ok(PodLink {
        host: LinkName::new(&link.host).map_err(|refusal| told(&refusal))?,
        owner: alias(&allocation.network, allocation.generation),
        inside: interface.as_str().to_owned(),
        addresses: allocation.addresses.iter().map(tenure_types::AssignedAddress::ip).collect(),
        mtu: link.mtu,
    })
}

/// Returns the owner of a link, as its alias says.
fn alias(network: &NetworkName, generation: Generation) -> String {
    format!("{ALIAS}{network}/{generation}")
}

/// The link that an alias speaks of; `None` for one that is not ours.
fn key(host: &LinkName, alias: &str) -> Option<LinkKey> {
    let (network, generation) = alias.strip_prefix(ALIAS)?.rsplit_once('/')?;
    Some(LinkKey {
        host: host.as_str().into(),
        network: NetworkName::new(network).ok()?,
        generation: Generation(generation.parse().ok()?),
    })
}

/// A refusal of the kernel, as its caller is told.
fn told(refusal: &Refusal) -> Error {
    let code = match refusal {
        Refusal::Taken(_) => ErrorCode::LinkTaken,
        Refusal::NotNamespace(_) => ErrorCode::InvalidEnvironment,
        Refusal::OwnNamespace(_) => ErrorCode::HostNetns,
        refusal if refusal.is_forbidden() => ErrorCode::LinkForbidden,
        _ => ErrorCode::LinkFailed,
    };
    Error::new(code, refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_read_as_it_was_written() {
        let (host, network) = (LinkName::new("eni0").unwrap(), NetworkName::new("pods-1.a").unwrap());
        let found = key(&host, &alias(&network, Generation(17))).unwrap();
        assert_eq!(found, LinkKey { host: "eni0".into(), network, generation: Generation(17) });
        for other in ["", "tenure", "tenure pods", "tenure pods/x", "tenure /1", "web/eth0", "Tenure pods/1"]
        {
            assert_eq!(key(&host, other), None, "{other:?}");
        }
    }

    #[test]
    fn a_host_end_is_named_as_ipamd_names_it_and_each_interface_has_its_own() {
        let links = KernelLinks::new(Arc::default());
        let pod =
            |name: &str| PodIdentity { namespace: "default".into(), name: name.into(), uid: Box::default() };
        let owner = |container: &str, interface: &str| Owner::Attachment {
            container: tenure_types::ContainerId::new(container).unwrap(),
            interface: tenure_types::InterfaceName::new(interface).unwrap(),
        };
        let none = Attributes::default();
        let host = |owner: &Owner, pod: Option<&PodIdentity>| links.link(owner, pod, None, &none).host;
        let web = host(&owner("a", "eth0"), Some(&pod("web-0")));
        assert_eq!(&*web, "eni0d7763386da");
        assert_eq!(host(&owner("b", "eth0"), Some(&pod("web-0"))), web, "a new sandbox takes it over");
        let others = [
            host(&owner("a", "net1"), Some(&pod("web-0"))),
            host(&owner("a", "eth0"), Some(&pod("web-0.net1"))),
            host(&owner("a", "eth0"), None),
            host(&owner("a", "net1"), None),
            host(&owner("b", "eth0"), None),
            web,
        ];
        assert_eq!(others.iter().collect::<std::collections::BTreeSet<_>>().len(), others.len());
    }

    #[test]
    fn a_link_is_as_the_caller_or_else_the_network_says() {
        let links = KernelLinks::new(Arc::default());
        let owner = Owner::Attachment {
            container: tenure_types::ContainerId::new("a").unwrap(),
            interface: tenure_types::InterfaceName::new("eth0").unwrap(),
        };
        let pod = PodIdentity { namespace: "default".into(), name: "web-0".into(), uid: Box::default() };
        let link = |mtu: Option<u32>, network: &[(&str, &str)]| {
            let network = Attributes::new(network.iter().copied()).unwrap();
            let link = links.link(&owner, Some(&pod), mtu, &network);
            (link.host.to_string(), link.mtu)
        };
        let named = |prefix: &str| format!("{prefix}0d7763386da");
        assert_eq!(link(None, &[]), (named("eni"), 1500));
        let network = [("mtu", "9001"), ("vethPrefix", "aws")];
        assert_eq!(link(None, &network), (named("aws"), 9001));
        let network = [("mtu", "9001"), ("podMtu", "1400")];
        assert_eq!(link(None, &network), (named("eni"), 1400));
        assert_eq!(link(Some(8900), &network), (named("eni"), 8900));
    }
}
