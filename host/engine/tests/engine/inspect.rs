//! Views of the engine's networks and policies.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Settings;
use tenure_engine::ports::{Answer, Catalogue, CatalogueEntry, Details, Offered, Policy, TakenIn};
use tenure_fixtures::ports::policy;
use tenure_ledger::Component;
use tenure_types::{
    Error, ErrorCode, Generation, Meter, NetworkName, PolicyName, PolicySelector, PolicyStamp,
};

use crate::claiming::agent;
use crate::support::{Bench, fits, network, owner, poll_once};

#[tokio::test]
async fn allocations_are_listed_in_pages() {
    let bench = Bench::new(8, 8);
    for number in 1..=3 {
        bench.engine.add(bench.add(number), fits).await.unwrap();
    }
    let page = async |after: u64, most: usize| -> Vec<_> {
        let listed = bench.engine.list(&network(), Generation(after), most).await;
        listed.into_iter().map(|listed| (listed.allocation.owner.clone(), listed.outside)).collect()
    };
    assert_eq!(page(0, 2).await, [(owner(1), false), (owner(2), false)]);
    assert_eq!(page(2, 2).await, [(owner(3), false)]);
    let narrower = bench.add_with(4, "first", "10.0.0.0/30");
    assert!(bench.engine.add(narrower, fits).await.is_err(), "its only address is held");
    assert_eq!(page(0, 9).await, [(owner(1), false), (owner(2), true), (owner(3), true)]);
    let nowhere = NetworkName::new("nowhere").unwrap();
    assert!(bench.engine.list(&nowhere, Generation(0), 9).await.is_empty());
}

/// The fixtures' catalogue, with details and meters of two of its policies.
struct Metered(Arc<dyn Catalogue>);

fn details() -> Details {
    let meter = Meter::default();
    let (worlds, effects, deadline) = (vec![("planner", true)], Vec::new(), Duration::from_millis(50));
    Details { worlds, effects, deadline, memory: 1 << 20, unchecked: false, meter }
}

impl Catalogue for Metered {
    fn find(&self, name: &PolicyName) -> Result<Arc<dyn Policy>, Error> {
        self.0.find(name)
    }

    fn find_pinned(&self, stamp: &PolicyStamp) -> Result<Arc<dyn Policy>, Error> {
        self.0.find_pinned(stamp)
    }

    fn resolve(&self, selector: &PolicySelector) -> Result<PolicyStamp, Error> {
        self.0.resolve(selector)
    }

    fn load<'a>(&'a self, stamp: &'a PolicyStamp) -> Answer<'a, Arc<dyn Policy>> {
        self.0.load(stamp)
    }

    fn take_in(&self, offered: Offered) -> Answer<'_, TakenIn> {
        self.0.take_in(offered)
    }

    fn set_loaded(&self, loaded: &[Component]) {
        self.0.set_loaded(loaded);
    }

    fn awaited(&self) -> Option<String> {
        self.0.awaited()
    }

    fn list(&self) -> Vec<CatalogueEntry> {
        let entry = |(name, source): (&str, &str)| CatalogueEntry {
            stamp: stamp(name),
            source: source.to_owned(),
            problem: None,
            loading: false,
            file_problem: None,
        };
        [("first", "embedded"), ("last", "/etc/tenure/last.wasm")].map(entry).to_vec()
    }

    fn details(&self, stamp: &PolicyStamp) -> Option<Details> {
        (stamp.name.as_str() == "first").then(details)
    }

    fn meters(&self) -> Vec<(PolicyStamp, Meter)> {
        ["first", "last"].map(|name| (stamp(name), Meter::default())).to_vec()
    }
}

#[cfg(test)]
fn stamp(name: &str) -> PolicyStamp {
    PolicyStamp { name: PolicyName::new(name).unwrap(), digest: "d".into() }
}

#[tokio::test]
async fn what_no_operator_has_loaded_is_not_unloaded_and_the_error_says_whose_it_is() {
    let bench = Bench::with(8, 8, |_| Arc::new(Metered(policy::catalogue())));
    let unload = async |name: &str| {
        let name = PolicyName::new(name).unwrap();
        bench.engine.unload_policy(&name.into()).await.unwrap_err()
    };
    let built_in = unload("first").await;
    assert_eq!(
        (built_in.code, &*built_in.cause),
        (ErrorCode::OutOfBounds, "policy first is built in, and cannot be unloaded")
    );
    let configured = unload("last").await;
    assert_eq!(configured.code, ErrorCode::OutOfBounds);
    assert_eq!(configured.next_step(), "remove `[policies.last]` from tenured.toml, and reload");
    assert_eq!(unload("nowhere").await.code, ErrorCode::UnknownPolicy);
}

#[tokio::test]
async fn a_policy_is_shown_as_the_catalogue_has_it_and_metered_while_it_serves() {
    let bench = Bench::with(8, 8, |_| Arc::new(Metered(policy::catalogue())));
    assert_eq!(bench.engine.policy_details(&stamp("last")), None);
    assert_eq!(bench.engine.policy_details(&stamp("first")), Some(details()));
    assert!(bench.engine.meters().is_empty(), "no policy serves");
    bench.address(1).await.unwrap();
    let metered: Vec<_> = bench.engine.meters().into_iter().map(|(policy, _)| policy).collect();
    assert_eq!(metered, [stamp("first")]);
}

#[tokio::test]
async fn what_the_books_contain_is_settled_once_it_is_durable() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    bench.engine.settled().await.unwrap();
    bench.journal.hold();
    let mut settled = pin!(bench.engine.settled());
    assert!(poll_once(settled.as_mut()).is_pending());
    bench.journal.resolve(&Ok(()));
    settled.await.unwrap();
}

#[tokio::test]
async fn an_agent_is_known_if_it_is_configured_or_nobody_says_which_are() {
    let bench = Bench::new(8, 8);
    let (cilium, monitor) = (agent("cilium").name, agent("monitor").name);
    assert!(bench.engine.has_agent(&cilium) && bench.engine.has_agent(&monitor));
    let agents = Some([cilium.clone()].into());
    bench.engine.set(Settings { agents, ..bench.engine.settings().as_ref().clone() });
    assert!(bench.engine.has_agent(&cilium) && !bench.engine.has_agent(&monitor));
}
