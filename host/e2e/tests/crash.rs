//! A daemon that is killed at any moment: nothing acknowledged is lost, no address has two owners, nothing leaks.
//!
//! `TENURE_KILL_ROUNDS=n` sets the number of kills; `TENURE_SEED=n` repeats a run's random choices.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Signal, kill_process};
use tenure_e2e::journal::Journal;
use tenure_e2e::load::{Fuse, Load};
use tenure_e2e::random::{self, Random};
use tenure_e2e::strace::Fault;
use tenure_e2e::{Need, Suite, Victim};

const STRACE: Need = Need::File("/usr/bin/strace", "strace");

/// The system calls that make something durable. The daemon is killed right before one of them.
const STEPS: [&str; 4] = ["fdatasync", "fsync", "/^rename", "/^unlink"];
/// A bound on the number of each of these calls in a start or a short load, so that the test ends.
const MOST: u32 = 150;

fn main() -> ExitCode {
    Suite::new()
        .test("nothing_is_lost_however_often_the_daemon_is_killed_under_load", &[], kills_under_load)
        .test("a_first_start_may_be_killed_at_every_sync_and_rename", &[STRACE], kills_of_a_first_start)
        .test("a_serving_daemon_may_be_killed_at_every_sync_and_rename", &[STRACE], kills_of_a_serving_daemon)
        .run()
}

fn kills_under_load() -> anyhow::Result<()> {
    random::seeds("crash")?.try_for_each(kills_of)
}

/// Kills the daemon under the load of a seed.
fn kills_of(seed: u64) -> anyhow::Result<()> {
    let rounds = random::rounds("TENURE_KILL_ROUNDS", 200)?;
    let mut random = Random::new(seed);
    let mut victim = Victim::new()?;
    let journal = Arc::new(Journal::default());
    let (mut answers, mut starts_cut) = (0, 0);
    for round in 0..rounds {
        // Occasionally, kill the daemon during its start.
        if random.below(4) == 0 {
            victim.spawn(&[])?;
            std::thread::sleep(Duration::from_micros(random.below(150_000)));
            victim.kill()?;
            starts_cut += 1;
        }
        victim.start()?;
        victim.keeps_promises(&journal).with_context(|| format!("before round {round}"))?;
        let load = Load { shims: 2, ..Load::endless(random.next_number()) };
        let pid = victim.pid()?;
        let fuse = Fuse::after(1 + random.below(250), move || Ok(kill_process(pid, Signal::KILL)?));
        load.run(&victim, &journal, &fuse).with_context(|| format!("round {round}"))?;
        answers += fuse.answers();
        let status = victim.ended()?;
        ensure!(was_killed(status), "round {round}: {status}");
    }
    victim.start()?;
    victim.keeps_promises(&journal)?;
    victim.daemon.ctl(&["check"])?;
    victim.deletes_everything(&journal)?;
    println!("{rounds} kills under load, {starts_cut} during a start, {answers} answers, nothing lost");
    Ok(())
}

/// Starts a daemon that is to be killed at a step; returns whether it reached that step.
fn start_to_be_killed(victim: &mut Victim, calls: &'static str, at: u32) -> anyhow::Result<bool> {
    let words = Fault { calls, effect: "signal=KILL", at }.words(&victim.daemon.path("trace"));
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let Some(status) = victim.start_under(&words)? else { return Ok(false) };
    ensure!(was_killed(status), "at {calls} {at}: {status}");
    Ok(true)
}

fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

fn kills_of_a_first_start() -> anyhow::Result<()> {
    let mut kills = Vec::new();
    for calls in STEPS {
        let mut count = 0;
        for at in 1.. {
            ensure!(at < MOST, "a start makes too many calls of {calls}");
            let mut victim = Victim::new()?;
            let killed = start_to_be_killed(&mut victim, calls, at)?;
            if killed {
                count += 1;
                victim.start().with_context(|| format!("after a start killed at {calls} {at}"))?;
            }
            let journal = Arc::new(Journal::default());
            Load { requests: 4, ..Load::short(at.into()) }.run(&victim, &journal, &Fuse::none())?;
            victim.kill()?;
            victim.start()?;
            victim.keeps_promises(&journal).with_context(|| format!("{calls} {at}"))?;
            if !killed {
                break;
            }
        }
        ensure!(count > 0, "no first start was killed at {calls}");
        kills.push(format!("{count} at {calls}"));
    }
    println!("first starts killed: {}", kills.join(", "));
    Ok(())
}

fn kills_of_a_serving_daemon() -> anyhow::Result<()> {
    let mut victim = Victim::new()?;
    let journal = Arc::new(Journal::default());
    let mut kills = Vec::new();
    let mut seeds = 0..;
    for calls in STEPS {
        let mut count = 0;
        for at in 1.. {
            ensure!(at < MOST, "a short load makes too many calls of {calls}");
            victim.start()?;
            let tracer = Fault { calls, effect: "signal=KILL", at }
                .attach(victim.pid()?, &victim.daemon.path("trace"))?;
            let load = Load::short(seeds.next().unwrap_or_default());
            load.run(&victim, &journal, &Fuse::none()).with_context(|| format!("{calls} {at}"))?;
            // A stop writes everything out, so that its steps are covered too.
            let status = victim.stop()?;
            drop(tracer);
            let killed = was_killed(status);
            ensure!(killed || status.success(), "at {calls} {at}: {status}");
            // A start after a crash has further steps.
            for step in STEPS {
                let at = 1 + at % 3;
                start_to_be_killed(&mut victim, step, at)?;
                victim.kill()?;
            }
            victim.start()?;
            victim.keeps_promises(&journal).with_context(|| format!("killed at {calls} {at}"))?;
            victim.kill()?;
            if !killed {
                break;
            }
            count += 1;
        }
        ensure!(count > 0, "no serving daemon was killed at {calls}");
        kills.push(format!("{count} at {calls}"));
    }
    println!("kills: {}", kills.join(", "));
    Ok(())
}
