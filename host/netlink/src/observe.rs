//! A look at the kernel: everything that a plan is made from.

use std::collections::BTreeMap;

use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rtnetlink::packet_route::address::AddressMessage;
use rtnetlink::packet_route::route::RouteMessage;
use rtnetlink::packet_route::rule::RuleMessage;
use rustix::io::Errno;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::numbers::{MAIN, OWN_TABLES};
use crate::parts::{IpFamily, KernelLink, KernelRoute, RoutingRule};
use crate::seen::ObservedState;
use crate::wanted::DesiredState;
use crate::{nft, sysctl, wire};

impl Kernel {
    /// Observes everything that concerns the desired state. The sysctls and the nftables table are the calling thread's network
    /// namespace's.
    ///
    /// # Errors
    /// When the kernel, `nft` or /proc/sys does not answer.
    pub async fn look(&self, wanted: &DesiredState) -> Result<ObservedState, Error> {
        // Where there are pods and no interfaces, nothing is translated or marked: no process is run for each pod. Where nothing is
        // wanted at all, everything is taken back.
        let only_pods = wanted.links.is_empty() && !wanted.rules.is_empty();
        let links = self.links().await?;
        let names = names(&links);
        let mut sysctls = BTreeMap::new();
        for key in wanted.sysctls.keys() {
            sysctls.extend(sysctl::read(key)?.map(|value| (key.clone(), value)));
        }
        Ok(ObservedState {
            addresses: self.addresses(&names).await?,
            routes: self.routes(&names).await?,
            rules: self.rules().await?,
            sysctls,
            table: if only_pods { None } else { nft::read().await? },
            links,
        })
    }

    /// All links of the namespace.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub async fn links(&self) -> Result<Vec<KernelLink>, Error> {
        let answers = self.dump("list the links", Message::GetLink(wire::get_links())).await?;
        let links = answers.iter().filter_map(|answer| match answer {
            Message::NewLink(message) => wire::read_link(message),
            _ => None,
        });
        Ok(links.collect())
    }

    /// The link of a name.
    pub(crate) async fn link(&self, name: &str) -> Result<Option<KernelLink>, Error> {
        let what = format!("look for link {name}");
        match self.ask(&what, Message::GetLink(wire::get_link(name))).await {
            Err(error) if error.is(Errno::NODEV) => Ok(None),
            answers => Ok(answers?.iter().find_map(|answer| match answer {
                Message::NewLink(message) => wire::read_link(message),
                _ => None,
            })),
        }
    }

    /// All global addresses.
    pub(crate) async fn addresses(
        &self,
        names: &BTreeMap<u32, String>,
    ) -> Result<Vec<crate::parts::InterfaceAddress>, Error> {
        let question = Message::GetAddress(AddressMessage::default());
        let answers = self.dump("list the addresses", question).await?;
        let addresses = answers.iter().filter_map(|answer| match answer {
            Message::NewAddress(message) => wire::read_address(message, names),
            _ => None,
        });
        Ok(addresses.collect())
    }

    /// The routes of our tables and of the main one.
    pub(crate) async fn routes(&self, names: &BTreeMap<u32, String>) -> Result<Vec<KernelRoute>, Error> {
        let mut routes = Vec::new();
        for family in [IpFamily::V4, IpFamily::V6] {
            let mut question = RouteMessage::default();
            question.header.address_family = wire::family(family);
            let answers = self.dump("list the routes", Message::GetRoute(question)).await?;
            routes.extend(answers.iter().filter_map(|answer| match answer {
                Message::NewRoute(message) => wire::read_route(message, names),
                _ => None,
            }));
        }
        routes.retain(|route| route.table == MAIN || OWN_TABLES.contains(&route.table));
        Ok(routes)
    }

    /// All rules.
    async fn rules(&self) -> Result<Vec<RoutingRule>, Error> {
        let mut rules = Vec::new();
        for family in [IpFamily::V4, IpFamily::V6] {
            let mut question = RuleMessage::default();
            question.header.family = wire::family(family);
            let answers = self.dump("list the rules", Message::GetRule(question)).await?;
            rules.extend(answers.iter().filter_map(|answer| match answer {
                Message::NewRule(message) => wire::read_rule(message),
                _ => None,
            }));
        }
        Ok(rules)
    }
}

/// The links' names by their indexes.
pub(crate) fn names(links: &[KernelLink]) -> BTreeMap<u32, String> {
    links.iter().map(|link| (link.index, link.name.clone())).collect()
}
