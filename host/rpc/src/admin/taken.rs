//! Pods whose addresses the cloud has taken away: they live on, and no packet reaches them.

use std::sync::Arc;

use ipnet::IpNet;
use tenure_ledger::Book;
use tenure_types::{Allocation, NetworkName, Result};

use super::node::Cloud;
use crate::v1;

/// The state of a range that the cloud did not show twice, as it is named in the cloud's status.
const GONE: &str = "gone";

/// The source of the cloud's status where EC2 is not asked.
const IMDS: &str = "imds";

/// The ranges of a network that the cloud does not show any more, each with its interface.
pub(super) struct TakenRanges {
    network: NetworkName,
    /// The source that does not show them.
    source: &'static str,
    ranges: Vec<(String, IpNet)>,
}

impl TakenRanges {
    /// Asks the cloud, if the node has one.
    pub(super) async fn of(cloud: Result<Box<dyn Cloud + '_>>) -> Option<Self> {
        let cloud = cloud.ok()?;
        let status = cloud.status().await;
        let source = if status.source == IMDS { "the instance metadata service" } else { "EC2" };
        let mut ranges = Vec::new();
        for interface in &status.interfaces {
            let is_gone =
                |range: &&v1::CloudRange| range.standing.as_ref().is_some_and(|of| of.state == GONE);
            let nets = interface.carries.iter().filter(is_gone).filter_map(|range| range.net.parse().ok());
            ranges.extend(nets.map(|net| (interface.id.clone(), net)));
        }
        Some(Self { network: cloud.network().clone(), source, ranges })
    }

    /// The allocations of these books with an address in one of the ranges, each with the interface and that range.
    pub(super) fn held<'a>(
        &'a self,
        books: &'a [Arc<Book>],
    ) -> impl Iterator<Item = (&'a Allocation, v1::Finding)> {
        let own = books.iter().filter(|book| *book.name() == self.network);
        own.flat_map(|book| book.allocations()).filter_map(|held| {
            let is_of = |net: &IpNet| held.addresses.iter().any(|address| net.contains(&address.ip()));
            let (interface, net) = self.ranges.iter().find(|(_, net)| is_of(net))?;
            Some((held.as_ref(), finding(held, self.source, interface, *net)))
        })
    }
}

fn finding(held: &Allocation, source: &str, interface: &str, net: IpNet) -> v1::Finding {
    v1::Finding {
        kind: "address-taken".to_owned(),
        network: held.network.to_string(),
        subject: held.owner.to_string(),
        detail: format!(
            "allocation {}: {source} does not show {net} on interface {interface} any more, so no packet reaches the pod",
            held.generation
        ),
        next_step: format!(
            "assign {net} to {interface} again, or delete the pod so that it gets another address; `tenurectl cloud` shows the interface"
        ),
        generation: held.generation.0,
        ..v1::Finding::default()
    }
}

#[cfg(test)]
mod tests {
    use tenure_ledger::LedgerFact;
    use tenure_types::{
        AssignedAddress, Attributes, ContainerId, Error, ErrorCode, Generation, InterfaceName, Moment, Owner,
        PolicyName, PolicyStamp, Sandbox,
    };

    use super::*;

    struct Shown(NetworkName);

    #[tonic::async_trait]
    impl Cloud for Shown {
        fn network(&self) -> &NetworkName {
            &self.0
        }

        async fn status(&self) -> v1::GetCloudResponse {
            let range = |net: &str, state: &str| v1::CloudRange {
                net: net.to_owned(),
                standing: Some(v1::CloudStanding { state: state.to_owned(), ..v1::CloudStanding::default() }),
                ..v1::CloudRange::default()
            };
            let carries = vec![range("10.0.0.6/32", GONE), range("10.0.0.7/32", "doubtful")];
            let interface =
                v1::CloudInterface { id: "eni-1".to_owned(), carries, ..v1::CloudInterface::default() };
            v1::GetCloudResponse { interfaces: vec![interface], ..v1::GetCloudResponse::default() }
        }
    }

    fn network() -> NetworkName {
        NetworkName::new("pods").unwrap()
    }

    fn book(addresses: &[&str]) -> Arc<Book> {
        let mut book = Book::empty(&network());
        for (number, address) in (1..).zip(addresses) {
            let container = ContainerId::new(format!("c{number}")).unwrap();
            let allocation = Allocation {
                network: network(),
                generation: Generation(number),
                owner: Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() },
                addresses: [AssignedAddress::plain(address.parse().unwrap(), None)].into(),
                sandbox: Sandbox::default(),
                tags: Attributes::default(),
                policy: Arc::new(PolicyStamp { name: PolicyName::new("p").unwrap(), digest: "00".into() }),
                origin: None,
                requested_at: Moment::default(),
                allocated_at: Moment::default(),
            };
            book.apply(number, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
        }
        Arc::new(book)
    }

    #[tokio::test]
    async fn a_pod_is_found_whose_address_is_gone_and_none_whose_address_is_in_doubt() {
        let books = [book(&["10.0.0.6/24", "10.0.0.7/24", "10.0.0.8/24"])];
        let taken = TakenRanges::of(Ok(Box::new(Shown(network())))).await.unwrap();
        let found: Vec<_> = taken.held(&books).map(|(_, found)| found).collect();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (found.kind.as_str(), found.subject.as_str(), found.generation),
            ("address-taken", "c1/eth0", 1)
        );
        assert!(found.detail.contains("10.0.0.6/32 on interface eni-1"), "{found:?}");
        let none = Error::new(ErrorCode::NoCloud, "none");
        assert!(TakenRanges::of(Err(none)).await.is_none(), "a node without interfaces");
    }
}
