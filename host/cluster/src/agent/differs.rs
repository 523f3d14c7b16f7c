//! Contradictions between the configuration, the networks and the cluster's pools, in words.
//!
//! The configuration says which pools a network may use, the network's own configuration names some of them in `ipam.pools`, and a pool says how its
//! addresses are used. Nothing that runs is changed because of a contradiction.

use std::collections::{BTreeMap, BTreeSet};

use tenure_ledger::Book;
use tenure_types::{NetworkName, PoolName, Supply};

use crate::agent::core::AgentCore;
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::agent::state::ClusterPool;

/// The attribute by which a network's definition shows that its addresses come from blocks.
const OF_CLUSTER: &str = "cluster.gateway";

/// All contradictions now.
pub(crate) async fn differences(core: &AgentCore) -> Vec<String> {
    let mut found = Vec::new();
    for network in core.engine.network_names() {
        let Some(book) = core.book(&network).await else { continue };
        match core.settings.networks.get(&network) {
            Some(listed) => {
                found.extend(of_network(&network, listed, &named(&book)));
                let mut families = families(&book);
                // Their addresses come with claims, and other pods get none of them.
                families.values_mut().for_each(|names| leave_out(names, |name| core.is_for_claims(name)));
                found.extend(without_addresses(&network, &families, &core.state().pools));
                let supplied = book.pools().iter().filter(|pool| pool.supply == Supply::Host);
                found.extend(supplied.filter_map(|pool| misnamed(&network, listed, &pool.name)));
            }
            None if book.network().attributes.get(OF_CLUSTER).is_some() => found.push(format!(
                "network {network} takes its addresses from blocks, and [cluster.networks] does not list it"
            )),
            None => {}
        }
    }
    let held = core.leases();
    let state = core.state();
    let unapplied = state.unapplied.iter().filter(|(cidr, _)| held.contains_key(*cidr));
    found.extend(
        unapplied.map(|(cidr, why)| format!("the settings of its pool cannot be applied to {cidr}: {why}")),
    );
    let refused = state.refused.reasons();
    found.extend(refused.map(|(pool, why)| format!("a block of AddressPool {pool} was given back: {why}")));
    found
}

/// The cluster's pools that a network's configuration names.
fn named(book: &Book) -> BTreeSet<String> {
    let names = book.pools().iter().filter_map(|pool| cluster_pool(&pool.name));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn of_network(network: &NetworkName, listed: &[String], named: &BTreeSet<String>) -> Vec<String> {
    let extra = named.iter().filter(|name| !listed.contains(name)).map(|name| {
        format!("`ipam.pools` of network {network} names pool {name}, which [cluster.networks] does not list for it: no address comes from that pool")
    });
    extra.collect()
}

/// The names of the cluster's pools that a network uses, by the families that it wants of them.
fn families(book: &Book) -> BTreeMap<PoolFamily, BTreeSet<String>> {
    let mut families = BTreeMap::<_, BTreeSet<_>>::new();
    for (name, family) in book.pools().iter().filter_map(|pool| cluster_pool(&pool.name)) {
        families.entry(family).or_default().insert(name.to_owned());
    }
    families
}

/// Leaves out the pools for claims, unless all are.
fn leave_out(names: &mut BTreeSet<String>, is_for_claims: impl Fn(&str) -> bool) {
    if !names.iter().all(|name| is_for_claims(name)) {
        names.retain(|name| !is_for_claims(name));
    }
}

/// Sentences about the families of which no pool of a network has addresses, once all of its pools were read.
fn without_addresses(
    network: &NetworkName,
    families: &BTreeMap<PoolFamily, BTreeSet<String>>,
    known: &BTreeMap<String, ClusterPool>,
) -> Vec<String> {
    let has_none = |(family, names): &(&PoolFamily, &BTreeSet<String>)| {
        names.iter().all(|name| known.get(name).is_some_and(|pool| !pool.units.contains_key(family)))
    };
    let lacking = families.iter().filter(has_none).map(|(family, names)| {
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let key = family.name().to_lowercase();
        format!(
            "network {network} has no {} addresses to give: add a CIDR of `{key}` to an AddressPool of it ({names}), or take it out of the network's `families`",
            family.name()
        )
    });
    lacking.collect()
}

/// A sentence about a pool that is named as no pool of the cluster ever is, so that no block comes to it.
fn misnamed(network: &NetworkName, listed: &[String], pool: &PoolName) -> Option<String> {
    let example = listed.first().map_or("NAME", String::as_str);
    cluster_pool(pool).is_none().then(|| {
        format!(
            "no block comes to pool {pool} of network {network}: its policy must name it as an AddressPool with the family, such as {example}.v4 or {example}.v6"
        )
    })
}

#[cfg(test)]
mod tests {
    use tenure_leases::{PoolKey, Uid};

    use super::*;

    #[test]
    fn a_pool_without_a_family_in_its_name_is_a_sentence() {
        let network = NetworkName::new("mine").unwrap();
        let words = |pool: &str| misnamed(&network, &["pods".to_owned()], &PoolName::new(pool).unwrap());
        assert_eq!((words("pods.v4"), words("pods.v6")), (None, None));
        let blocks = words("blocks").unwrap();
        assert!(blocks.starts_with("no block comes to pool blocks of network mine: "), "{blocks}");
        assert!(blocks.ends_with("such as pods.v4 or pods.v6"), "{blocks}");
    }

    #[test]
    fn a_family_that_no_pool_of_the_network_has_is_a_sentence_once_all_were_read() {
        let network = NetworkName::new("pods").unwrap();
        let of = |name: &str, family| {
            let key = PoolKey { name: name.into(), uid: Uid(7) };
            (name.to_owned(), ClusterPool { key, units: [(family, 26)].into(), generation: 1 })
        };
        let both: BTreeSet<String> = ["four".to_owned(), "six".to_owned()].into();
        let families = [(PoolFamily::Ipv4, both.clone()), (PoolFamily::Ipv6, both)].into();
        let words = |known: &[_]| without_addresses(&network, &families, &known.iter().cloned().collect());
        let (four, six) = (of("four", PoolFamily::Ipv4), of("six", PoolFamily::Ipv6));
        assert!(words(&[four.clone(), six]).is_empty() && words(std::slice::from_ref(&four)).is_empty());
        let words = words(&[four, of("six", PoolFamily::Ipv4)]);
        assert_eq!(words.len(), 1);
        assert!(
            words[0].starts_with(
                "network pods has no IPv6 addresses to give: add a CIDR of `ipv6` to an AddressPool of it (four, six)"
            ),
            "{words:?}"
        );
    }

    #[test]
    fn pools_for_claims_have_a_family_where_a_network_has_no_other_pools() {
        let left = |names: &[&str]| {
            let mut names = names.iter().map(|name| (*name).to_owned()).collect();
            leave_out(&mut names, |name| name.starts_with("claims"));
            names.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(left(&["claims", "plain"]), ["plain"]);
        assert_eq!(left(&["claims", "claims-2"]), ["claims", "claims-2"]);
    }

    #[test]
    fn each_pool_that_the_network_alone_names_is_a_sentence() {
        let network = NetworkName::new("pods").unwrap();
        let listed = ["blue".to_owned(), "red".to_owned()];
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert!(of_network(&network, &listed, &named(&["red", "blue"])).is_empty());
        let words = of_network(&network, &listed, &named(&["blue", "green"]));
        assert_eq!(words.len(), 1);
        assert!(words[0].contains("names pool green, which [cluster.networks] does not list"), "{words:?}");
    }
}
