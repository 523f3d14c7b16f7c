//! Hours of three nodes in one account: tenure, and a model of ipamd on the same trace, with pods that come and go, neighbours
//! that use up the account's budget, calls that fail, answers that are lost, reads that lag, permissions that go, and daemons that crash.
//!
//! `TENURE_HOURS` sets how many hours are simulated, and `TENURE_SEED` the first seed; each processor has a share of the lives, which are the
//! same however they are shared. From 100 hours on, a life has ten of them, and both sides are compared, from 1,000 on in each setting; fewer say
//! nothing about averages.

mod figures;
pub(crate) mod life;
mod peer;
pub(crate) mod tenure;
mod trace;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_fixtures::random::{rounds, seeds};

use self::figures::{Figures, table};
pub(crate) use self::trace::SETTINGS;
use self::trace::Trace;

/// How many hours, unless the variable says more, and the hours of a life then.
const USUAL: (u64, u64) = (8, 2);

/// From how many hours on both sides are compared, and the hours of a life then.
const LONG: (u64, u64) = (100, 10);

/// From how many hours on each setting has lives enough to be compared by itself.
const EACH: u64 = 1000;

/// How many idle addresses of a node more than under ipamd are none too many: in all, and in a setting. With prefixes, a surplus one stays for half an
/// hour, so that fewer calls are made; with `WARM_IP_TARGET`, ipamd counts what cools down as warm.
const AS_FEW_IDLE: (f64, f64) = (0.5, 2.0);

/// How many lives pass between two lines of progress.
const PROGRESS: u64 = 10;

/// How many lives pass between two tables.
const REPORT: u64 = 100;

/// Both sides' figures for each setting.
type Both = Vec<(Figures, Figures)>;

fn life(seed: u64, hours: u64) -> (usize, Figures, Figures) {
    let trace = Trace::new(seed, hours);
    let run =
        || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    (trace.setting, run().block_on(tenure::tenure(&trace)), run().block_on(peer::ipamd(&trace)))
}

fn lives(first: u64, count: u64, hours: u64) -> Both {
    let both = Mutex::new(vec![<(Figures, Figures)>::default(); SETTINGS.len()]);
    let (next, done) = (AtomicU64::new(first), AtomicU64::new(0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first.saturating_add(count) {
                return;
            }
            let (setting, tenure, ipamd) = life(seed, hours);
            let mut both = both.lock().unwrap();
            both[setting].0.add(tenure);
            both[setting].1.add(ipamd);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(PROGRESS) && done < count {
                println!("{} of {} hours", done * hours, count * hours);
            }
            if done.is_multiple_of(REPORT) && done < count {
                report(&both);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    both.into_inner().unwrap()
}

/// Prints the table of each setting and of all together; returns all together.
fn report(both: &Both) -> (Figures, Figures) {
    let (mut tenure, mut ipamd) = <(Figures, Figures)>::default();
    println!("{:<38} {:>12} {:>12}", "", "tenure", "ipamd");
    for (setting, (one, other)) in SETTINGS.iter().zip(both) {
        if one.pods > 0 {
            println!("{}", table(setting.name, one, other));
        }
        tenure.add(one.clone());
        ipamd.add(other.clone());
    }
    println!("{}", table("all settings", &tenure, &ipamd));
    (tenure, ipamd)
}

#[test]
fn nothing_is_lost_and_pods_wait_less_with_fewer_calls_and_as_few_idle_addresses_as_under_ipamd() {
    seeds("aws-hours").unwrap().for_each(nothing_is_lost_from);
}

fn nothing_is_lost_from(first: u64) {
    let all = rounds("TENURE_HOURS", USUAL.0).unwrap();
    let (least, long) = LONG;
    let hours = if all < least { USUAL.1 } else { long };
    let both = lives(first, all.div_ceil(hours), hours);
    let (tenure, ipamd) = report(&both);
    assert_eq!((tenure.minutes, ipamd.minutes), (all.div_ceil(hours) * hours * 60, tenure.minutes));
    if all >= least {
        assert!(tenure.calls_per_pod() < ipamd.calls_per_pod(), "calls");
        assert!(tenure.wait() < ipamd.wait(), "waits");
        assert!(tenure.idle() < ipamd.idle() + AS_FEW_IDLE.0, "idle addresses");
    }
    let each = SETTINGS.iter().zip(&both).filter(|(_, (tenure, _))| tenure.pods > 0 && all >= EACH);
    for (setting, (tenure, ipamd)) in each {
        assert!(tenure.calls_per_pod() < ipamd.calls_per_pod(), "calls with {}", setting.name);
        assert!(tenure.wait() < ipamd.wait(), "waits with {}", setting.name);
        assert!(tenure.idle() < ipamd.idle() + AS_FEW_IDLE.1, "idle addresses with {}", setting.name);
    }
}
