use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use tenure_types::{Clock, Moment};
use tokio::time::timeout;

use super::*;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The events of a test's parts, in order.
type Diary = Arc<Mutex<Vec<String>>>;

/// The behaviour of a test's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Returns,
    Fails,
    Panics,
    /// Ends when told to stop.
    Obeys,
    /// Does not end when told to stop.
    Hangs,
}

/// A clock that stands still; only conditions are stamped with it.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Moment {
        Moment::default()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// A part that behaves in each way in turn, and in the last way from then on.
struct Player {
    name: &'static str,
    ways: Vec<Way>,
    runs: Arc<AtomicUsize>,
    diary: Diary,
}

impl Part for Player {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let note = |what: &str| self.diary.lock().unwrap().push(format!("{} {what}", self.name));
        match self.ways[run.min(self.ways.len() - 1)] {
            Way::Returns => return Ok(()),
            Way::Fails => bail!("on purpose"),
            Way::Panics => panic!("in public"),
            Way::Hangs => pending().await,
            Way::Obeys => {}
        }
        stop.cancelled().await;
        note("is told");
        tokio::task::yield_now().await;
        note("ends");
        Ok(())
    }
}

/// Parts that share a diary.
#[derive(Default)]
struct Stage {
    diary: Diary,
    runs: Arc<AtomicUsize>,
}

impl Stage {
    fn part(&self, name: &'static str, ways: &[Way]) -> Player {
        let (runs, diary) = (Arc::clone(&self.runs), Arc::clone(&self.diary));
        Player { name, ways: ways.to_vec(), runs, diary }
    }

    fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }
}

fn conditions() -> Arc<Conditions> {
    Arc::new(Conditions::new(Arc::new(StoppedClock)))
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.unwrap()
}

#[tokio::test]
async fn a_part_that_the_daemon_needs_ends_it_by_name() {
    for (way, why) in [
        (Way::Returns, "it returned without being told to stop"),
        (Way::Fails, "on purpose"),
        (Way::Panics, "it panicked: in public"),
    ] {
        let stage = Stage::default();
        let mut parts = Supervisor::new(&conditions());
        parts.essential("steady", stage.part("steady", &[Way::Obeys]), &[]);
        parts.essential("frail", stage.part("frail", &[way]), &[]);
        let mut running = parts.start();
        let error = anyhow::Error::from(soon(running.failed()).await);
        assert_eq!(format!("{error:#}"), format!("part frail has ended: {why}"));
        assert_eq!(soon(running.stop(LIMIT)).await, [""; 0]);
        assert_eq!(stage.diary(), ["steady is told", "steady ends"]);
    }
}

#[tokio::test]
async fn a_part_that_the_daemon_can_do_without_is_started_again_and_told() {
    let (stage, conditions) = (Stage::default(), conditions());
    let mut parts = Supervisor::new(&conditions);
    let ways = [Way::Panics, Way::Fails, Way::Obeys];
    parts.restarted("frail", stage.part("frail", &ways), &[]);
    let mut running = parts.start();
    let told = async {
        while stage.runs.load(Ordering::SeqCst) < ways.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        conditions.list()
    };
    let told = tokio::select! {
        told = soon(told) => told,
        ended = running.failed() => panic!("{ended}"),
    };
    let told: Vec<_> = told.iter().map(|told| (told.name, told.subject.as_str(), &*told.message)).collect();
    assert_eq!(told, [(ConditionName::PartFailed, "frail", "part frail has ended: on purpose")]);
    assert_eq!(soon(running.stop(LIMIT)).await, [""; 0]);
    assert!(conditions.list().is_empty(), "a part that stops as told is not a failure");
}

#[tokio::test]
async fn a_part_whose_work_is_done_is_neither_missed_nor_waited_for() {
    let stage = Stage::default();
    let mut parts = Supervisor::new(&conditions());
    let below = parts.essential("below", stage.part("below", &[Way::Obeys]), &[]);
    parts.finite("once", stage.part("once", &[Way::Returns]), &[below]);
    let mut running = parts.start();
    timeout(Duration::from_millis(50), running.failed()).await.unwrap_err();
    assert_eq!(soon(running.stop(LIMIT)).await, [""; 0]);
    assert_eq!(stage.diary(), ["below is told", "below ends"]);
}

#[tokio::test]
async fn each_part_is_stopped_before_those_that_it_needs() {
    let stage = Stage::default();
    let obeys = |name| stage.part(name, &[Way::Obeys]);
    let mut parts = Supervisor::new(&conditions());
    let disk = parts.essential("disk", obeys("disk"), &[]);
    let engine = parts.essential("engine", obeys("engine"), &[disk]);
    parts.essential("socket", obeys("socket"), &[engine, disk]);
    assert_eq!(soon(parts.start().stop(LIMIT)).await, [""; 0]);
    assert_eq!(
        stage.diary(),
        ["socket is told", "socket ends", "engine is told", "engine ends", "disk is told", "disk ends"]
    );
}

#[tokio::test]
async fn a_part_that_hangs_is_cut_off_at_the_deadline_and_the_others_end_as_they_should() {
    let stage = Stage::default();
    let mut parts = Supervisor::new(&conditions());
    let disk = parts.essential("disk", stage.part("disk", &[Way::Obeys]), &[]);
    parts.essential("socket", stage.part("socket", &[Way::Hangs]), &[disk]);
    let cut_off = soon(parts.start().stop(Duration::from_millis(20))).await;
    assert_eq!(cut_off, ["socket"]);
    assert_eq!(stage.diary(), ["disk is told", "disk ends"]);
}
