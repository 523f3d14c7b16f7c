use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tenure_engine::{Ports, Settings};
use tenure_fixtures::ports::{ManualClock, ManualJournal, NoLinks, Silent, catalogue, settings};
use tenure_ledger::{Book, LedgerFact, LedgerState};
use tenure_types::{
    AssignedAddress, Attributes, ContainerId, Generation, InterfaceName, Moment, NetworkName, Origin, Owner,
    Place, PolicyName, PolicyStamp, Sandbox,
};

use super::*;
use crate::{Runtime, fake::FakeRuntime, netns};

mod foreign;
mod pods;

fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

/// The place in which a namespace of the tests was seen, unless it was never seen.
fn seen(netns: &Path) -> Option<Place> {
    let beside = netns.parent()?.join("beside");
    std::fs::write(&beside, "").ok()?;
    let metadata = std::fs::metadata(&beside).ok()?;
    netns::see(beside.to_str()?, Place::new(metadata.dev(), metadata.ino()))
}

/// An engine that holds one allocation, of a container in a namespace.
fn engine(container: &str, netns: &Path) -> Arc<Engine> {
    engine_with(container, netns, None)
}

/// The same, of an allocation that another IPAM made, if it has an origin.
fn engine_with(container: &str, netns: &Path, origin: Option<Origin>) -> Arc<Engine> {
    let sandbox =
        Sandbox { netns: netns.display().to_string().into(), netns_seen: seen(netns), ..Sandbox::default() };
    engine_of(container, sandbox, origin)
}

/// An engine that holds one allocation, of a container with this sandbox.
fn engine_of(container: &str, sandbox: Sandbox, origin: Option<Origin>) -> Arc<Engine> {
    engine_holding(vec![allocation(container, sandbox, origin)])
}

/// The allocation of a container with this sandbox.
fn allocation(container: &str, sandbox: Sandbox, origin: Option<Origin>) -> Allocation {
    let policy = Arc::new(PolicyStamp { name: PolicyName::new("any").unwrap(), digest: "".into() });
    let (container, interface) = (ContainerId::new(container).unwrap(), InterfaceName::new("eth0").unwrap());
    Allocation {
        network: network(),
        generation: Generation(1),
        owner: Owner::Attachment { container, interface },
        addresses: [AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None)].into(),
        sandbox,
        tags: Attributes::default(),
        policy,
        origin: origin.map(Box::new),
        requested_at: Moment::default(),
        allocated_at: Moment::default(),
    }
}

/// An engine that holds these allocations, of addresses and generations that follow one another.
fn engine_holding(held: Vec<Allocation>) -> Arc<Engine> {
    let mut book = Book::empty(&network());
    let mut places = 0;
    for (place, mut held) in (1_u8..).zip(held) {
        held.generation = Generation(place.into());
        let address = format!("10.0.0.{}/24", 1 + place).parse().unwrap();
        held.addresses = [AssignedAddress::plain(address, None)].into();
        places = u64::from(place);
        book.apply(places, &LedgerFact::Allocated(Arc::new(held))).unwrap();
    }
    let ports = Ports {
        // The tests pass the time to each look.
        clock: Arc::new(ManualClock::default()),
        catalogue: catalogue::empty(),
        // The book has taken the first places.
        journal: Arc::new(ManualJournal::after(places)),
        links: Arc::new(NoLinks),
        observer: Arc::new(Silent),
    };
    let settings = Settings { cooldown: Duration::ZERO, in_flight: 1, queue: 1, networks: 1, ..settings() };
    Engine::new(LedgerState { books: vec![book], ..LedgerState::default() }, ports, settings).0
}

async fn held(leaks: &Leaks) -> usize {
    leaks.engine.book(&network()).await.unwrap().allocations().len()
}

const GRACE: Duration = Duration::from_secs(60);
const BEGIN: Duration = Duration::from_secs(1000);

#[tokio::test]
async fn what_both_sources_miss_is_freed_after_the_grace_period() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
    let engine = engine("ghost", &directory.path().join("gone"));
    let mut leaks = Leaks::new(engine, sandboxes, Arc::new(ManualClock::default()), || GRACE);
    let serving = FakeRuntime(vec!["other"]).serve(&socket);
    assert_eq!(leaks.look(BEGIN).await, LOOK_AGAIN);
    let nearly = Duration::from_millis(1);
    assert_eq!(leaks.look(BEGIN + GRACE - nearly).await, nearly, "the next look is due when it ends");
    assert_eq!(held(&leaks).await, 1, "the grace period is not over");

    serving.abort();
    std::fs::remove_file(&socket).unwrap();
    leaks.look(BEGIN + GRACE).await;
    assert_eq!(held(&leaks).await, 1, "a runtime that cannot be reached proves nothing");
    let wrong = leaks.engine.whats_wrong();
    let names: Vec<_> = wrong.iter().map(|condition| condition.name).collect();
    assert_eq!(names, [tenure_types::ConditionName::RuntimeUnreachable]);

    let _serving = FakeRuntime(vec!["other"]).serve(&socket);
    leaks.look(BEGIN + 2 * GRACE).await;
    assert_eq!(held(&leaks).await, 1, "and the grace period starts over");
    assert_eq!(leaks.engine.whats_wrong(), [], "it answers again");
    assert_eq!(leaks.look(BEGIN + 3 * GRACE).await, LOOK_AGAIN);
    assert_eq!(held(&leaks).await, 0);
}

/// A daemon that crashes in a loop looks once in each life.
#[tokio::test]
async fn the_grace_period_goes_on_over_restarts_of_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    let _serving = FakeRuntime(vec!["other"]).serve(&socket);
    let engine = engine("ghost", &directory.path().join("vanished"));
    let boot = |id: &str| BootId(id.to_owned());
    let life = |of: &str, at: Duration| {
        let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
        let clock = ManualClock::default();
        clock.advance(at);
        let leaks = Leaks::new(Arc::clone(&engine), sandboxes, Arc::new(clock), || GRACE);
        leaks.kept_in(directory.path(), &boot(of))
    };
    life("a", BEGIN).look(BEGIN).await;
    let at = BEGIN + GRACE / 2;
    assert_eq!(life("a", at).look(at).await, LOOK_AGAIN);
    let at = BEGIN + GRACE;
    let other_boot = life("b", at);
    assert_eq!(other_boot.gone_since.len(), 0, "the clock has begun again since");
    let mut leaks = life("a", at);
    leaks.look(at).await;
    assert_eq!(held(&leaks).await, 0, "no life was as long as the grace period");
}

#[tokio::test]
async fn what_one_source_still_has_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    std::fs::write(directory.path().join("here"), "").unwrap();
    let _serving = FakeRuntime(vec!["old-listed"]).serve(&socket);
    for (container, netns) in [("old-listed", "gone"), ("unlisted", "here"), ("unlisted", "unmounted/gone")] {
        let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
        let engine = engine(container, &directory.path().join(netns));
        let mut leaks = Leaks::new(engine, sandboxes, Arc::new(ManualClock::default()), || GRACE);
        leaks.look(BEGIN).await;
        leaks.look(BEGIN + 2 * GRACE).await;
        assert_eq!(held(&leaks).await, 1, "{container} in {netns}");
    }
}

/// The reasons for which owners are in quarantine.
async fn doubted(leaks: &Leaks) -> Vec<String> {
    let book = leaks.engine.book(&network()).await.unwrap();
    book.quarantined().iter().map(|of| of.mark.reason.to_string()).collect()
}

const DOUBTFUL_AFTER: Duration = Duration::from_secs(15 * 60);
const NEARLY: Duration = Duration::from_millis(1);

#[tokio::test]
async fn what_one_source_alone_misses_for_long_is_in_quarantine_until_another_speaks() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
    let engine = engine("ghost", &directory.path().join("gone"));
    let mut leaks = Leaks::new(engine, sandboxes, Arc::new(ManualClock::default()), || GRACE);
    let silent = "its network namespace is gone, and the container runtime does not answer";
    leaks.look(BEGIN).await;
    leaks.look(BEGIN + DOUBTFUL_AFTER - NEARLY).await;
    assert_eq!(doubted(&leaks).await, Vec::<String>::new());
    leaks.look(BEGIN + DOUBTFUL_AFTER).await;
    assert_eq!((doubted(&leaks).await, held(&leaks).await), (vec![silent.to_owned()], 1));

    let serving = FakeRuntime(vec!["ghost"]).serve(&socket);
    leaks.look(BEGIN + DOUBTFUL_AFTER).await;
    assert_eq!(doubted(&leaks).await, Vec::<String>::new(), "the runtime lists it");
    serving.abort();
    std::fs::remove_file(&socket).unwrap();
    let again = BEGIN + 2 * DOUBTFUL_AFTER;
    leaks.look(again).await;
    leaks.look(again + DOUBTFUL_AFTER - NEARLY).await;
    assert_eq!(doubted(&leaks).await, Vec::<String>::new(), "the time begins again");
    leaks.look(again + DOUBTFUL_AFTER).await;
    assert_eq!(doubted(&leaks).await.len(), 1);

    let _serving = FakeRuntime(vec!["other"]).serve(&socket);
    leaks.look(again + DOUBTFUL_AFTER).await;
    assert_eq!((doubted(&leaks).await.len(), held(&leaks).await), (1, 1), "its grace period is not over");
    leaks.look(again + DOUBTFUL_AFTER + GRACE).await;
    assert_eq!((doubted(&leaks).await.len(), held(&leaks).await), (0, 0));
}

/// A daemon that crashes in a loop looks once in each life.
#[tokio::test]
async fn a_doubt_goes_on_over_restarts_of_the_daemon_and_begins_again_after_a_reboot() {
    let directory = tempfile::tempdir().unwrap();
    let engine = engine("ghost", &directory.path().join("gone"));
    let life = |boot: &str, at: Duration| {
        let silent = Sandboxes::new(Some(Runtime::at(directory.path().join("cri.sock"))));
        let clock = ManualClock::default();
        clock.advance(at);
        let leaks = Leaks::new(Arc::clone(&engine), Arc::new(silent), Arc::new(clock), || GRACE);
        leaks.kept_in(directory.path(), &BootId(boot.to_owned()))
    };
    life("a", BEGIN).look(BEGIN).await;
    for at in [BEGIN + DOUBTFUL_AFTER / 2, BEGIN + DOUBTFUL_AFTER - NEARLY] {
        let mut leaks = life("a", at);
        leaks.look(at).await;
        assert_eq!(doubted(&leaks).await, Vec::<String>::new());
    }
    let at = BEGIN + DOUBTFUL_AFTER;
    assert_eq!(life("b", at).doubts.since(), 0, "another boot");
    let mut leaks = life("a", at);
    leaks.look(at).await;
    assert_eq!(doubted(&leaks).await.len(), 1, "no life was as long as that");
    leaks.look(at).await;
    assert_eq!(life("a", at).doubts.since(), 0, "the ledger remembers it now");
}

#[tokio::test]
async fn an_imported_row_whose_container_is_gone_is_in_quarantine_and_others_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    let _serving = FakeRuntime(vec!["other"]).serve(&socket);
    let origin = || Some(Origin { source: "files".to_owned(), ..Origin::default() });
    for (origin, expected) in [(origin(), 1), (None, 0)] {
        let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
        let engine = engine_with("ghost", &directory.path().join("unmounted/gone"), origin);
        let mut leaks = Leaks::new(engine, sandboxes, Arc::new(ManualClock::default()), || GRACE);
        leaks.look(BEGIN).await;
        leaks.look(BEGIN + DOUBTFUL_AFTER).await;
        assert_eq!((doubted(&leaks).await.len(), held(&leaks).await), (expected, 1));
    }
}
