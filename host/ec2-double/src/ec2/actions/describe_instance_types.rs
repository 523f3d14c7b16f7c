//! `DescribeInstanceTypes`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::state::{InstanceType, Platform, Refusal};
use crate::xml::{optional, record, set};

/// The filters that the double knows.
const FILTERS: &[&str] = &["bare-metal", "hypervisor", "instance-type"];

/// The results that fit on a page.
const MOST: usize = 100;

pub(super) fn parse(parameters: &mut Parameters) -> Result<Work, Refusal> {
    let paging = Paging::take(parameters, MOST, "InstanceType")?;
    let names = parameters.texts("InstanceType");
    let filters = Filters::take(parameters, FILTERS)?;
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| InstanceType::find(name).is_none()).collect();
    if !unknown.is_empty() {
        let message = format!("The following supplied instance types do not exist: [{}]", unknown.join(", "));
        return Err(Refusal::new("InvalidInstanceType", message));
    }
    Ok(Box::new(move |context| {
        let asked = |known: &&InstanceType| names.is_empty() || names.iter().any(|name| name == known.name);
        let kept = InstanceType::all()
            .filter(asked)
            .filter(|known| filters.match_all(&BTreeMap::new(), |name| values(known, name)));
        let (page, next) = paging.page(kept.map(|known| (known.name.to_owned(), known)).collect())?;
        let items = page.into_iter().map(kind);
        Ok(context.answer(record!(Described { instance_type_set: set(items), next_token: optional(next) })))
    }))
}

fn kind(known: &InstanceType) -> impl Serialize {
    let cards = (0..known.cards).map(|card| {
        record!(Card {
            network_card_index: card,
            network_performance: "Up to 10 Gigabit",
            maximum_network_interfaces: known.interfaces,
        })
    });
    let network = record!(Network {
        network_performance: "Up to 10 Gigabit",
        maximum_network_interfaces: known.interfaces * known.cards,
        maximum_network_cards: known.cards,
        default_network_card_index: 0,
        network_cards: set(cards),
        ipv4_addresses_per_interface: known.ipv4,
        ipv6_addresses_per_interface: known.ipv6,
        ipv6_supported: true,
        ena_support: if known.platform == Platform::Xen { "unsupported" } else { "required" },
        efa_supported: false,
    });
    record!(Kind {
        instance_type: known.name,
        current_generation: true,
        bare_metal: known.platform == Platform::BareMetal,
        v_cpu_info: record!(Processors { default_v_cpus: known.processors }),
        network_info: network,
        hypervisor: optional(hypervisor(known)),
    })
}

/// A bare-metal type has none.
fn hypervisor(known: &InstanceType) -> Option<&'static str> {
    match known.platform {
        Platform::Nitro => Some("nitro"),
        Platform::Xen => Some("xen"),
        Platform::BareMetal => None,
    }
}

/// The values of an instance type that a filter compares.
fn values(known: &InstanceType, name: &str) -> Vec<String> {
    let value = match name {
        "bare-metal" => Some((known.platform == Platform::BareMetal).to_string()),
        "hypervisor" => hypervisor(known).map(str::to_owned),
        "instance-type" => Some(known.name.to_owned()),
        _ => None,
    };
    value.into_iter().collect()
}
