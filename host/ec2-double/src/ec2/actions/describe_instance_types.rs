//! `DescribeInstanceTypes`.

use std::collections::BTreeMap;

use super::{Parameters, Work};
use crate::ec2::filters::Filters;
use crate::ec2::paging::Paging;
use crate::state::{InstanceType, Platform, Refusal};
use crate::xml::{Element, list, parent, text};

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
    Ok(Box::new(move |_| {
        let asked = |known: &&InstanceType| names.is_empty() || names.iter().any(|name| name == known.name);
        let kept = InstanceType::all()
            .filter(asked)
            .filter(|known| filters.match_all(&BTreeMap::new(), |name| values(known, name)));
        let (page, next) = paging.page(kept.map(|known| (known.name.to_owned(), known)).collect())?;
        let mut answer = vec![list("instanceTypeSet", page.into_iter().map(kind))];
        answer.extend(next);
        Ok(answer)
    }))
}

fn kind(known: &InstanceType) -> Vec<Element> {
    let cards = (0..known.cards).map(|card| {
        vec![
            text("networkCardIndex", card),
            text("networkPerformance", "Up to 10 Gigabit"),
            text("maximumNetworkInterfaces", known.interfaces),
        ]
    });
    let network = vec![
        text("networkPerformance", "Up to 10 Gigabit"),
        text("maximumNetworkInterfaces", known.interfaces * known.cards),
        text("maximumNetworkCards", known.cards),
        text("defaultNetworkCardIndex", 0),
        list("networkCards", cards),
        text("ipv4AddressesPerInterface", known.ipv4),
        text("ipv6AddressesPerInterface", known.ipv6),
        text("ipv6Supported", true),
        text("enaSupport", if known.platform == Platform::Xen { "unsupported" } else { "required" }),
        text("efaSupported", false),
    ];
    let mut elements = vec![
        text("instanceType", known.name),
        text("currentGeneration", true),
        text("bareMetal", known.platform == Platform::BareMetal),
        parent("vCpuInfo", vec![text("defaultVCpus", known.processors)]),
        parent("networkInfo", network),
    ];
    elements.extend(hypervisor(known).map(|word| text("hypervisor", word)));
    elements
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
