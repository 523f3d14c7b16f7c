//! The datapath before its first rule.

use tenure_engine::Ports;
use tenure_fixtures::ports::{Heard, ManualClock, ManualJournal, NoLinks, policy};
use tenure_ledger::LedgerState;
use tenure_netlink::NodeSettings;
use tenure_types::{ErrorCode, Moment};

use super::*;
use crate::config::Config;

#[tokio::test(start_paused = true)]
async fn a_contradictory_description_at_a_start_is_a_condition_until_it_is_right() {
    let ports = Ports {
        clock: Arc::new(ManualClock::at(Moment::default())),
        catalogue: policy::catalogue(),
        journal: Arc::new(ManualJournal::default()),
        links: Arc::new(NoLinks),
        observer: Arc::new(Heard::default()),
    };
    let (engine, _abandoned) = Engine::new(LedgerState::default(), ports, Config::default().settings());
    let nameless = NodeSettings { link_prefix: String::new(), ..NodeSettings::default() };
    let wrong = NodeNetwork { settings: nameless, ..NodeNetwork::default() };
    let (describe, node) = watch::channel(Some(Arc::new(wrong)));
    let kept = Arc::<DatapathResult>::default();
    let given = DatapathInputs {
        engine: Arc::clone(&engine),
        kept: Arc::clone(&kept),
        node,
        network: None,
        metrics: Arc::new(Metrics::new("0.1.0")),
    };
    let part = DatapathPart::build(given, engine.conditions());
    let moment = Duration::from_millis(100);
    assert!(timeout(moment, part.keep()).await.is_err(), "it goes on");
    assert_eq!(kept.health().unwrap_err().code, ErrorCode::LinkFailed);
    let told = engine.conditions().message(ConditionName::DatapathFailed, "");
    assert!(told.as_deref().is_some_and(|told| told.contains("is not a name of a link")), "{told:?}");
    describe.send_replace(Some(Arc::default()));
    assert!(timeout(moment, part.keep()).await.is_err());
    assert_eq!(kept.health(), Ok(()));
    assert_eq!(engine.conditions().message(ConditionName::DatapathFailed, ""), None);
}
