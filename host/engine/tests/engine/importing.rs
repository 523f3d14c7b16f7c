//! Limits of an import: the network's definition, other imports, and allocations that it made itself stay as they are.

use std::sync::Arc;

use tenure_engine::{
    Bounds, Claim, ConfiguredNetwork, Define, Import, ImportOrigin, Imported, Importing, NetworkBounds,
    Place, Settings,
};
use tenure_types::{ConditionName, Definer, ErrorCode, NetworkConfig, PodIdentity, PolicyName};

use crate::planning::added;
use crate::support::{Bench, activate, network, owner};

fn config(ipam: &str) -> Arc<NetworkConfig> {
    Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() })
}

fn first() -> PolicyName {
    PolicyName::new("first").unwrap()
}

/// The origin of the imports.
fn files() -> ImportOrigin {
    ImportOrigin { source: "files".to_owned(), ..ImportOrigin::default() }
}

/// A claim of an address, with what distinguishes it from a later one.
fn claim(number: u32, address: &str, claim: &str) -> Claim {
    let places = vec![Place { address: address.parse().unwrap(), claim: claim.to_owned() }];
    Claim { owner: Ok(owner(number)), places, pod: None, source: "files".to_owned(), claimed_at_ms: None }
}

impl Bench {
    /// Begins an import with this configuration, from a source that names one owner of an address.
    async fn begins_import(&self, ipam: &str) -> Importing {
        let definition = Some((first(), config(ipam)));
        let import = Import { network: network(), origin: files(), definition, exclusive: true, apply: true };
        self.engine.begin_import(&import).await.unwrap()
    }

    async fn imports(&self, ipam: &str, claims: &[Claim]) -> Vec<Imported> {
        let mut importing = self.begins_import(ipam).await;
        let outcomes = self.engine.import(&mut importing, claims).await.unwrap();
        self.engine.end_import(importing).await.unwrap();
        outcomes.into_iter().map(Result::unwrap).collect()
    }

    /// The network's configuration, and the policy that serves it.
    async fn defined(&self) -> (String, String) {
        let book = self.engine.book(&network()).await.unwrap();
        let serves = self.engine.policies_of(&network()).unwrap().now.policy.name;
        (book.network().config.ipam.clone(), serves.to_string())
    }

    /// Why an ADD is refused while an import has not ended.
    async fn refused_import(&self) -> String {
        let refused = self.address(7).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotTakenOver);
        refused.cause
    }
}

/// Regression: the first import that ended let new owners in, although the other had claims left.
#[tokio::test]
async fn of_two_imports_the_last_to_end_lets_new_owners_in() {
    let bench = Bench::new(8, 8);
    let (one, other) = (bench.begins_import("10.0.0.0/29").await, bench.begins_import("10.0.0.0/29").await);
    bench.engine.end_import(one).await.unwrap();
    let told = bench.refused_import().await;
    assert!(
        told.contains("is in progress") && !told.contains("again"),
        "nobody is told to repeat what is in progress: {told}"
    );
    let removed = bench.engine.remove_network(&network(), true).await.unwrap_err();
    assert_eq!(removed.code, ErrorCode::NetworkInUse);
    drop(other);
    let told = bench.refused_import().await;
    assert!(told.contains("was interrupted"), "{told}");

    let (one, other) = (bench.begins_import("10.0.0.0/29").await, bench.begins_import("10.0.0.0/29").await);
    bench.engine.end_import(one).await.unwrap();
    bench.engine.end_import(other).await.unwrap();
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.2");
}

#[tokio::test]
async fn an_import_redefines_what_requests_define_and_not_what_an_operator_does() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.imports("10.1.0.0/29", &[]).await;
    assert_eq!(bench.defined().await, ("10.1.0.0/29".to_owned(), "first".to_owned()));

    let by_operator = Define {
        network: network(),
        policy: first(),
        config: config("10.2.0.0/29"),
        by: Definer::Operator,
        apply: true,
        change_ranges: true,
    };
    bench.engine.define_network(&by_operator).await.unwrap();
    bench.imports("10.3.0.0/29", &[]).await;
    assert_eq!(bench.defined().await, ("10.2.0.0/29".to_owned(), "first".to_owned()));
}

#[tokio::test]
async fn an_import_leaves_the_policy_that_an_operator_has_chosen() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.engine.activate(&activate("last")).await.unwrap();
    bench.imports("10.1.0.0/29", &[]).await;
    assert_eq!(bench.defined().await, ("10.1.0.0/29".to_owned(), "last".to_owned()));
}

#[tokio::test]
async fn a_claim_ends_none_that_its_own_import_made() {
    let bench = Bench::new(8, 8);
    let claims = [claim(1, "10.0.0.2", "a"), claim(2, "10.0.0.2", "b")];
    let outcomes = bench.imports("10.0.0.0/29", &claims).await;
    let held = Imported::Unknown("10.0.0.2 is held by c1/eth0".to_owned());
    assert_eq!(outcomes, [Imported::Taken, held]);
}

#[tokio::test]
async fn a_claim_that_nothing_distinguishes_from_an_earlier_one_does_not_end_it() {
    for undistinguished in ["", "a"] {
        let bench = Bench::new(8, 8);
        bench.imports("10.0.0.0/29", &[claim(1, "10.0.0.2", "a")]).await;
        let outcomes = bench.imports("10.0.0.0/29", &[claim(2, "10.0.0.2", undistinguished)]).await;
        let held = Imported::Unknown("10.0.0.2 is held by c1/eth0".to_owned());
        assert_eq!(outcomes, [held], "{undistinguished:?}");
    }
}

/// Regression: who had waited for the address got it together with the new owner, and the log contradicted itself.
#[tokio::test]
async fn a_claim_that_ends_the_holder_ends_who_waits_for_the_address_if_its_source_named_both() {
    let waits_for = "the unknown owner of 10.0.0.2";
    let held = |by: &str| Imported::Unknown(format!("10.0.0.2 is held by {by}"));
    for (source, outcome, owners) in
        [("files", Imported::Taken, vec!["c3/eth0"]), ("others", held(waits_for), vec!["c1/eth0", waits_for])]
    {
        let bench = Bench::new(8, 8);
        bench.imports("10.0.0.0/29", &[claim(1, "10.0.0.2", "a")]).await;
        let unclear =
            Claim { owner: Err("empty".to_owned()), source: source.to_owned(), ..claim(2, "10.0.0.2", "a") };
        let said = bench.imports("10.0.0.0/29", &[unclear]).await;
        assert_eq!(said, [Imported::Unknown("empty".to_owned())]);
        assert_eq!(bench.imports("10.0.0.0/29", &[claim(3, "10.0.0.2", "b")]).await, [outcome]);
        let book = bench.engine.book(&network()).await.unwrap();
        let left: Vec<_> = book.allocations().map(|held| held.owner.to_string()).collect();
        assert_eq!(left, owners);
    }
}

#[tokio::test]
async fn an_imported_allocation_names_its_pod() {
    let bench = Bench::new(8, 8);
    let pod = PodIdentity { namespace: "shop".into(), name: "web-0".into(), uid: "".into() };
    let of_pod = Claim { pod: Some(pod.clone()), ..claim(1, "10.0.0.2", "a") };
    assert_eq!(bench.imports("10.0.0.0/29", &[of_pod]).await, [Imported::Taken]);
    let book = bench.engine.book(&network()).await.unwrap();
    assert_eq!(book.owned_by(&owner(1)).unwrap().sandbox.pod, Some(pod));
}

/// Regression: a living pod's address got an unknown owner, whom an operator released as told; the next pod had the address.
#[tokio::test]
async fn an_address_whose_range_the_host_has_yet_to_supply_is_no_unknown_owners() {
    let bench = Bench::new(8, 8);
    assert_eq!(bench.takes(0).await.unwrap_err().code, ErrorCode::NotYet);
    let import = async |apply: bool| {
        let import = Import { network: network(), origin: files(), definition: None, exclusive: true, apply };
        let mut importing = bench.engine.begin_import(&import).await.unwrap();
        let outcome =
            bench.engine.import(&mut importing, &[claim(1, "10.0.1.17", "a")]).await.unwrap().remove(0);
        bench.engine.end_import(importing).await.unwrap();
        outcome
    };
    bench.engine.conditions().set(ConditionName::SupplyMissing, "", "EC2 is silent");
    for apply in [false, true] {
        let refused = import(apply).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::NotReady);
        assert!(refused.cause.contains("(EC2 is silent); import again"), "{refused}");
    }
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 0);
    bench.engine.supply(&network(), &[added("b1", 1)]).await.unwrap();
    assert_eq!(import(true).await, Ok(Imported::Taken));

    // One that has no range although there are some has an unknown owner until it has.
    let bench = Bench::with_block().await;
    let outside = claim(2, "10.0.9.9", "b");
    let import =
        Import { network: network(), origin: files(), definition: None, exclusive: true, apply: true };
    let mut importing = bench.engine.begin_import(&import).await.unwrap();
    let outcome = bench.engine.import(&mut importing, &[outside]).await.unwrap().remove(0).unwrap();
    assert!(matches!(outcome, Imported::Unknown(why) if why.ends_with("if one with it comes, import again")));
}

/// Regression: while the state was lost, nothing could be imported into a network of the daemon's configuration, and no pod was kept from its
/// addresses once the state was confirmed.
#[tokio::test]
async fn an_import_defines_a_network_of_the_configuration_while_the_state_is_lost() {
    let bench = Bench::new(8, 8);
    let configured = Some(ConfiguredNetwork { policy: first(), config: config("10.0.0.0/29") });
    let networks = [(network(), NetworkBounds { configured, ..NetworkBounds::default() })].into();
    let bounds = Arc::new(Bounds { networks, ..Bounds::default() });
    bench.engine.set(Settings { bounds, ..bench.engine.settings().as_ref().clone() });
    let import =
        Import { network: network(), origin: files(), definition: None, exclusive: true, apply: true };
    assert_eq!(bench.engine.begin_import(&import).await.unwrap_err().code, ErrorCode::UnknownNetwork);
    bench.engine.conditions().set(ConditionName::StateLost, "", "it is gone");
    // Another configuration does not count.
    for (definition, apply, expected) in [
        (None, false, Imported::Taken),
        (Some((first(), config("10.9.0.0/29"))), true, Imported::Taken),
        (None, true, Imported::Held),
    ] {
        let import = Import { definition, apply, ..import.clone() };
        let mut importing = bench.engine.begin_import(&import).await.unwrap();
        let outcome =
            bench.engine.import(&mut importing, &[claim(1, "10.0.0.2", "a")]).await.unwrap().remove(0);
        assert_eq!(outcome, Ok(expected));
        bench.engine.end_import(importing).await.unwrap();
    }
    let book = bench.engine.book(&network()).await.unwrap();
    assert_eq!(book.network().defined_by, Definer::Configuration);
    bench.engine.conditions().clear(ConditionName::StateLost, "");
    assert_eq!(bench.address(7).await.unwrap(), "10.0.0.3");
}
