//! Interfaces with their addresses and prefixes, each with its use.

use std::collections::HashMap;
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::executor::{InterfaceStatus, NetStatus, Status};
use tenure_aws::ranges::carried;
use tenure_aws::seen::{Duty, Evidence, SeenStanding};
use tenure_ledger::Book;
use tenure_rpc::v1;

use super::milliseconds;

/// The ledger's account of interfaces: the use of each address and prefix, by interface.
#[derive(Debug, Default)]
pub(super) struct CloudStock(HashMap<(String, IpNet), v1::CloudRange>);

impl CloudStock {
    pub(super) fn of(book: &Book) -> Self {
        let pools = book.pools().iter().enumerate();
        let views = pools.flat_map(|(index, pool)| book.ranges(index).map(move |view| (pool, view)));
        let ranges = views.filter_map(|(pool, view)| {
            let (interface, net) = carried(view.range)?;
            let total = u64::from(view.range.size());
            let free = total.saturating_sub(view.held).saturating_sub(view.cooling);
            let range = v1::CloudRange {
                net: net.to_string(),
                standing: None,
                pool: pool.name.to_string(),
                draining: view.draining,
                total,
                held: view.held,
                cooling: view.cooling,
                free: if view.draining { 0 } else { free },
            };
            Some(((interface.to_owned(), net), range))
        });
        Self(ranges.collect())
    }

    /// An address or prefix of an interface; without a pool if the ledger does not have it.
    fn range(&self, interface: &str, net: IpNet) -> v1::CloudRange {
        let known = self.0.get(&(interface.to_owned(), net)).cloned();
        known.unwrap_or_else(|| v1::CloudRange { net: net.to_string(), ..v1::CloudRange::default() })
    }
}

/// The interfaces by network card and device index; those that EC2 has not shown come last.
pub(super) fn interfaces(status: &Status, stock: &CloudStock) -> Vec<v1::CloudInterface> {
    let mut sorted: Vec<&InterfaceStatus> = status.interfaces.iter().collect();
    sorted.sort_by_key(|interface| (interface.card.is_none(), interface.card, interface.device));
    sorted.into_iter().map(|of| interface(of, status.now, stock)).collect()
}

fn interface(of: &InterfaceStatus, now: Duration, stock: &CloudStock) -> v1::CloudInterface {
    let carries = |net: &NetStatus| v1::CloudRange {
        standing: Some(standing(net.standing, net.evidence, net.confirmed, now)),
        ..stock.range(&of.id, net.net)
    };
    let duty_reason = match &of.duty {
        Some(Duty::Foreign(why)) => why.clone(),
        _ => String::new(),
    };
    v1::CloudInterface {
        id: of.id.clone(),
        card: of.card,
        device: of.device,
        mac: of.mac.clone().unwrap_or_default(),
        address: of.address.map(|address| address.to_string()).unwrap_or_default(),
        subnet: of.subnet.clone(),
        duty: of.duty.as_ref().map_or("", Duty::name).to_owned(),
        duty_reason,
        standing: Some(standing(of.standing, of.evidence, of.confirmed, now)),
        carries: of.carries.iter().map(carries).collect(),
    }
}

fn standing(standing: SeenStanding, by: Evidence, at: Duration, now: Duration) -> v1::CloudStanding {
    let age = |at: Duration| milliseconds(now.saturating_sub(at));
    v1::CloudStanding {
        state: standing.name().to_owned(),
        since_age_ms: standing.since().map(age),
        evidence: by.name().to_owned(),
        evidence_age_ms: age(at),
    }
}
