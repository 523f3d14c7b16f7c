//! Replaying DELs that hang.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Waker};

use tenure_checkpoint::BootSource;
use tenure_engine::{Del, Engine, Ports};
use tenure_fixtures::ports::{Heard, ManualClock, ManualJournal, NoLinks, policy};
use tenure_ledger::LedgerState;
use tenure_rpc::v1::Invocation;
use tenure_types::{BootId, ContainerId, InterfaceName, Moment, NetworkName, Owner};

use super::*;
use crate::config::Config;
use crate::state::RecoveredState;

fn invocation(container: &str) -> Invocation {
    Invocation {
        config: r#"{"cniVersion":"1.1.0","name":"pods","ipam":{"type":"tenure"}}"#.into(),
        container_id: container.into(),
        interface: "eth0".into(),
        started_at_boot_ns: 1,
        ..Invocation::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_del_that_hangs_is_not_waited_for_keeps_its_place_and_ends_later() {
    let directory = tempfile::tempdir().unwrap();
    let (run_dir, state_dir) = (directory.path().join("run"), directory.path().join("state"));
    let clock = Arc::new(ManualClock::at(Moment { boot_ns: 1_000_000_000_000, wall_ms: 0 }));
    let metrics = Arc::new(Metrics::new("0.1.0"));
    let source = BootSource::unknown(BootId("boot".to_owned()));
    let RecoveredState { seen, directories: _directories, .. } =
        RecoveredState::recover(&run_dir, &state_dir, source, clock.as_ref(), &metrics).unwrap();
    let journal = Arc::new(ManualJournal::default());
    let ports = Ports {
        clock,
        catalogue: policy::catalogue(),
        journal: Arc::clone(&journal) as _,
        links: Arc::new(NoLinks),
        observer: Arc::new(Heard::default()),
    };
    let (engine, _abandoned) = Engine::new(LedgerState::default(), ports, Config::default().settings());
    let spool = Spool::beside(&run_dir.join("cni.sock"));
    let count = AT_ONCE + 1;
    for number in 0..count {
        spool.write(&invocation(&format!("c{number}"))).unwrap();
    }
    let none = run_dir.join("spool/99999999999999999999-1-0.json");
    std::fs::write(&none, "no DEL").unwrap();
    let cni = CniService::new(Arc::clone(&engine), true);
    let mut replay = SpoolReplay::new(spool.clone(), cni, metrics, seen);

    journal.hold();
    // Ends by itself: with a paused clock, a wait without a limit would hang the test's runtime.
    let pass = timeout(PATIENCE * 10, replay.once()).await;
    assert!(pass.is_ok(), "the pass waits for DELs that hang");
    assert_eq!(engine.load().in_flight, AT_ONCE);
    let owner = Owner::Attachment {
        container: ContainerId::new("c0").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    };
    let del = Del { network: NetworkName::new("pods").unwrap(), owner, requested_at: engine.now() };
    let mut later = pin!(engine.del(del));
    assert!(later.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(engine.load().queued, 1, "what comes later for the same key is behind it");

    journal.resolve(&Ok(()));
    replay.once().await;
    assert_eq!(spool.waiting().unwrap(), Vec::<PathBuf>::new());
    assert!(!none.exists(), "and what is none is set aside");
    later.await.unwrap();
}
