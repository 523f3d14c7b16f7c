//! Upgrades and downgrades under load: the daemon of one version takes over from the one of another, again and again, and no pod notices.
//!
//! The two versions are the built daemon, and a copy of it that calls itself older, or the `tenured` in the directory that `TENURE_OTHER_BIN_DIR` names.
//! `TENURE_HANDOVERS=n` sets the number of hand-overs, and `TENURE_HANDOVER_PODS=n` how many pods at most come before each; the seed decides how many they are, and
//! whether the hand-over is a stop or a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use serde_json::{Value, json};
use tenure_e2e::random::{self, Random};
use tenure_e2e::{Attachment, Daemon, Plugin, Suite, binaries, wait};

/// The directory of another version's daemon.
const OTHER: &str = "TENURE_OTHER_BIN_DIR";
/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The CNI code for "try again later".
const TRY_AGAIN: u32 = 11;
/// The callers that wait for the next daemon, as pods do.
const CALLERS: usize = 4;
/// The version in the built daemon that it writes into its state, and one of the same length.
const VERSIONS: [&str; 2] = [concat!("tenured ", env!("CARGO_PKG_VERSION")), "tenured 0.0.0"];

fn main() -> ExitCode {
    Suite::new().test("upgrades_and_downgrades_under_load_lose_and_double_nothing", &[], under_load).run()
}

fn under_load() -> anyhow::Result<()> {
    random::seeds("upgrades")?.try_for_each(hand_overs)
}

/// The pods that the callers added and did not delete, each with its address.
type Pods = BTreeMap<String, String>;

fn hand_overs(seed: u64) -> anyhow::Result<()> {
    let count = random::rounds("TENURE_HANDOVERS", 6)?;
    let most_between = random::rounds("TENURE_HANDOVER_PODS", 40)?;
    let mut random = Random::new(seed);
    let mut daemon = Daemon::prepare()?;
    let other = other_version(&daemon.path("tenured-other"))?;
    daemon.start_again()?;
    let (shim, enough, answers) = (daemon.shim()?, AtomicBool::new(false), AtomicUsize::new(0));
    let begin = Instant::now();
    let (pods, mut gaps) = thread::scope(|scope| {
        let (shim, enough, answers) = (&shim, &enough, &answers);
        let callers: Vec<_> =
            (0..CALLERS).map(|caller| scope.spawn(move || call(shim, caller, enough, answers))).collect();
        let hasty = scope.spawn(move || call_hastily(shim, enough));
        let mut exchange = || {
            for number in 0..count {
                let wanted =
                    answers.load(Ordering::Relaxed) + CALLERS + usize::try_from(random.below(most_between))?;
                wait::holds("more answers", LIMIT, || {
                    Ok(answers.load(Ordering::Relaxed) >= wanted
                        || callers.iter().any(thread::ScopedJoinHandle::is_finished))
                })?;
                daemon.exchange_program(number.is_multiple_of(2).then(|| other.clone()));
                if random.below(4) == 0 {
                    daemon.kill()?;
                } else {
                    ensure!(daemon.stop()?.success(), "it did not stop");
                }
                daemon.start_again().with_context(|| format!("hand-over {number}"))?;
            }
            anyhow::Ok(())
        };
        let exchanged = exchange();
        enough.store(true, Ordering::Relaxed);
        let mut pods = Pods::new();
        for caller in callers {
            pods.extend(caller.join().map_err(|_| anyhow!("a caller panicked"))??);
        }
        let (hasty, gaps) = hasty.join().map_err(|_| anyhow!("the hasty caller panicked"))??;
        pods.extend(hasty);
        exchanged.map(|()| (pods, gaps))
    })?;
    let elapsed = begin.elapsed();
    let held = || -> anyhow::Result<Pods> {
        let text = |held: &Value, pointer: &str| {
            held.pointer(pointer)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .context("an allocation without it")
        };
        daemon
            .allocations("net")?
            .iter()
            .map(|held| Ok((text(held, "/container_id")?, text(held, "/addresses/0")?)))
            .collect()
    };
    // A DEL that was spooled during a hand-over is replayed.
    wait::holds("the pods' addresses and no other", LIMIT, || Ok(held()? == pods))
        .with_context(|| format!("answered: {pods:?}\nheld: {:?}", held()))?;
    let addresses: BTreeSet<_> = pods.values().collect();
    ensure!(addresses.len() == pods.len(), "an address has two owners: {pods:?}");
    gaps.sort_unstable();
    let [median, longest] =
        [gaps.len() / 2, gaps.len().saturating_sub(1)].map(|at| gaps.get(at).copied().unwrap_or_default());
    let answered = answers.load(Ordering::Relaxed);
    let rate = f64::from(u32::try_from(answered)?) / elapsed.as_secs_f64();
    println!(
        "{count} hand-overs under load in {elapsed:.1?}: {answered} ADDs answered, {rate:.0} a second, {} pods left, {} times refused with code {TRY_AGAIN} only; a hand-over took {median:?} in the median, and {longest:?} at most",
        pods.len(),
        gaps.len(),
    );
    Ok(())
}

/// The daemon of the other version: one that was given, or a copy of the built one that calls itself older.
fn other_version(copy: &Path) -> anyhow::Result<PathBuf> {
    if let Some(directory) = std::env::var_os(OTHER) {
        return Ok(Path::new(&directory).join("tenured"));
    }
    let mut program = fs::read(binaries::find("tenured")?)?;
    let [from, to] = VERSIONS.map(str::as_bytes);
    ensure!(from.len() == to.len(), "the versions differ in length");
    let at =
        program.windows(from.len()).position(|window| window == from).context("the daemon has no version")?;
    program.splice(at..at + from.len(), to.iter().copied());
    fs::write(copy, program)?;
    fs::set_permissions(copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy.to_owned())
}

/// A network whose callers wait for so long, in seconds.
fn config(wait: u32) -> Value {
    let ipam =
        json!({ "type": "tenure", "ranges": [[{ "subnet": "10.76.0.0/16" }]], "timeout": 120, "wait": wait });
    json!({ "cniVersion": "1.1.0", "name": "net", "ipam": ipam })
}

/// Adds a pod that stays and one that goes, in turn, until it is enough. Each call must succeed.
fn call(shim: &Plugin, caller: usize, enough: &AtomicBool, answers: &AtomicUsize) -> anyhow::Result<Pods> {
    let (mut pods, config) = (Pods::new(), config(90));
    for number in 0.. {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        let [stays, goes] = ["stays", "goes"].map(|kind| Attachment::of(format!("{kind}-{caller}-{number}")));
        let address = shim.call("ADD", &stays, &config)?.address()?;
        pods.insert(stays.container.clone(), address);
        shim.call("ADD", &goes, &config)?.address()?;
        shim.call("DEL", &goes, &config)?.silent()?;
        answers.fetch_add(2, Ordering::Relaxed);
    }
    Ok(pods)
}

/// Adds pods without waiting for a daemon, and repeats each ADD until it succeeds: the only other answer may be "try again later". Returns
/// the pods, and for how long each refused one was refused.
fn call_hastily(shim: &Plugin, enough: &AtomicBool) -> anyhow::Result<(Pods, Vec<Duration>)> {
    let (mut pods, mut gaps, config) = (Pods::new(), Vec::new(), config(0));
    for number in 0.. {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        let pod = Attachment::of(format!("hasty-{number}"));
        let mut refused: Option<Instant> = None;
        let address = loop {
            let outcome = shim.call("ADD", &pod, &config)?;
            if outcome.succeeded {
                break outcome.address()?;
            }
            outcome.error_code(TRY_AGAIN)?;
            refused.get_or_insert_with(Instant::now);
        };
        gaps.extend(refused.map(|since| since.elapsed()));
        pods.insert(pod.container, address);
    }
    Ok((pods, gaps))
}
