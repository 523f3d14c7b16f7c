//! A daemon that is killed at each call that makes a step of a policy durable: loads, exchanges, promotions, roll-backs.
//!
//! The step is recorded once, to find its calls. Then it is done once for each of them, and the daemon is killed right before that
//! call; and once more with each call of the log delayed, to be killed right after its answer.

#[path = "support/component.rs"]
#[expect(dead_code, reason = "other suites need the rest of it")]
mod component;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use component::{build, digest};
use serde_json::{Value, json};
use tenure_e2e::strace::{Fault, record};
use tenure_e2e::{Attachment, Need, Suite, Victim};

const STRACE: Need = Need::File("/usr/bin/strace", "strace");

/// The system calls that change what is on the disk.
const CALLS: [&str; 9] =
    ["openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "mkdir", "ftruncate"];

/// Half a second before a call does anything: an answer that does not wait for it gets out, and is not true after a kill.
const LATE: &str = "delay_enter=500000";

/// A bound on the calls of one step, so that the test ends.
const MOST: usize = 60;

fn main() -> ExitCode {
    Suite::new()
        .test("a_load_may_be_killed_at_every_call", &[STRACE], || killed(Step::Load))
        .test("an_exchange_may_be_killed_at_every_call", &[STRACE], || killed(Step::Activate))
        .test("a_promotion_may_be_killed_at_every_call", &[STRACE], || killed(Step::Promote))
        .test("a_roll_back_may_be_killed_at_every_call", &[STRACE], || killed(Step::RollBack))
        .run()
}

/// A step of the policy `mine` on the network `net`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Load,
    Activate,
    Promote,
    RollBack,
}

/// A call to be killed at: the nth of its kind on a path, or on the newest segment of the log.
#[derive(Debug, Clone)]
struct Place {
    call: &'static str,
    path: Option<String>,
    at: u32,
}

/// A node with two policies: the built-in one assigns the lowest address, `mine` the highest.
struct Node {
    victim: Victim,
    component: String,
    digest: String,
    pods: u32,
}

impl Node {
    fn start() -> anyhow::Result<Self> {
        let mut victim = Victim::new()?;
        let component = build("tenure-highest-first", &victim.daemon)?;
        // An empty custom section makes it a component of its own, which is not built in.
        let bytes = [fs::read(&component)?.as_slice(), &[0, 1, 0]].concat();
        fs::write(&component, bytes)?;
        victim.start()?;
        let digest = digest(&component)?;
        let mut node = Self { victim, component: component.display().to_string(), digest, pods: 0 };
        node.add("host-local")?;
        Ok(node)
    }

    fn ctl(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.victim.daemon.ctl(arguments)
    }

    /// Whether a command succeeded.
    fn does(&self, arguments: &[&str]) -> anyhow::Result<bool> {
        Ok(self.victim.daemon.ctl_output(arguments)?.status.success())
    }

    /// Prepares a step, from the state that the one before has left.
    fn prepare(&mut self, step: Step) -> anyhow::Result<()> {
        if step == Step::Load {
            // What has served a network is kept for it, so the network has to go, too; a start removes what nobody names.
            self.ctl(&["network", "remove", "net", "--apply"])?;
            self.does(&["policy", "unload", "mine"])?;
            self.victim.kill()?;
            self.victim.start()?;
            return self.add("host-local");
        }
        if self.serves()? != "host-local" {
            self.ctl(&["policy", "activate", "net", "host-local"])?;
        }
        self.does(&["policy", "shadow", "net", "--end"])?;
        let load = ["policy", "load", &self.component, "--name", "mine"];
        match step {
            Step::Load => {}
            Step::Activate => drop(self.ctl(&load)?),
            Step::Promote => {
                self.ctl(&load)?;
                self.ctl(&["policy", "shadow", "net", "mine"])?;
            }
            Step::RollBack => {
                self.ctl(&load)?;
                self.ctl(&["policy", "activate", "net", "mine"])?;
            }
        }
        Ok(())
    }

    /// Does a step; returns whether the daemon said that it is done.
    fn take(&self, step: Step) -> anyhow::Result<bool> {
        match step {
            Step::Load => self.does(&["policy", "load", &self.component, "--name", "mine"]),
            Step::Activate => self.does(&["policy", "activate", "net", "mine"]),
            Step::Promote => self.does(&["policy", "promote", "net", "--now"]),
            Step::RollBack => self.does(&["policy", "rollback", "net"]),
        }
    }

    /// The policy that serves according to the history.
    fn serves(&self) -> anyhow::Result<String> {
        let told = self.ctl(&["policy", "history", "net"])?;
        Ok(told.pointer("/now/name").and_then(Value::as_str).context("nothing serves")?.to_owned())
    }

    /// ADDs a pod, and checks which policy has served it.
    fn add(&mut self, policy: &str) -> anyhow::Result<()> {
        self.pods += 1;
        let ipam = json!({ "type": "tenure", "ranges": [[{ "subnet": "10.86.0.0/16" }]] });
        let config = json!({ "cniVersion": "1.0.0", "name": "net", "ipam": ipam });
        let pod = Attachment::of(format!("pod-{}", self.pods));
        let shim = self.victim.shim()?;
        let address = shim.call("ADD", &pod, &config)?.address()?;
        let expected = if policy == "mine" { "10.86.255." } else { "10.86.0." };
        ensure!(address.starts_with(expected), "{policy} is said to serve, but it assigned {address}");
        shim.call("DEL", &pod, &config)?.silent()
    }

    /// Checks a node that was killed in a step and started again.
    fn check(&mut self, step: Step, answered: bool) -> anyhow::Result<()> {
        let (old, new) = match step {
            Step::RollBack => ("mine", "host-local"),
            _ => ("host-local", "mine"),
        };
        let list = self.ctl(&["policy", "list"])?;
        let policies = list.pointer("/policies").and_then(Value::as_array).context("no list")?;
        let listed: BTreeMap<String, bool> = policies
            .iter()
            .filter_map(|entry| {
                let name = entry.pointer("/policy/name")?.as_str()?.to_owned();
                let networks = entry.pointer("/networks").and_then(Value::as_array);
                Some((name, networks.is_some_and(|networks| networks.contains(&json!("net")))))
            })
            .collect();
        if step == Step::Load {
            ensure!(
                !answered || listed.contains_key("mine"),
                "the load was confirmed, and is forgotten: {list}"
            );
            let kept = listed.contains_key("mine");
            self.tidy(kept)?;
            // Loaded or not: it can be loaded, and then it serves.
            ensure!(self.take(Step::Load)?, "it cannot be loaded again");
            self.add("host-local")?;
            self.ctl(&["policy", "activate", "net", "mine"])?;
            self.add("mine")?;
        } else {
            let now = self.serves()?;
            ensure!(now == old || now == new, "{now} serves");
            ensure!(!answered || now == new, "{step:?} was confirmed, but {now} serves");
            let serving: Vec<_> =
                listed.iter().filter(|(_, serves)| **serves).map(|(name, _)| name).collect();
            ensure!(serving == [&now], "the history says that {now} serves, the list says {serving:?}");
            self.add(&now)?;
            self.tidy(true)?;
            if now == old {
                if step == Step::Promote {
                    // The run in the shadow goes on after a restart.
                    ensure!(self.does(&["policy", "shadow", "net"])?, "the shadow run is forgotten");
                }
                ensure!(self.take(step)?, "{step:?} cannot be done again");
                self.add(new)?;
            }
        }
        let found = self.ctl(&["check"])?;
        let findings = found.pointer("/findings").and_then(Value::as_array).context("no findings")?;
        ensure!(findings.is_empty(), "{found}");
        Ok(())
    }

    /// Checks that the store has the copy and the compiled form of each policy that may serve, and nothing else.
    fn tidy(&self, has_mine: bool) -> anyhow::Result<()> {
        for folder in ["policies", "compiled"] {
            let mut mine = 0;
            for entry in fs::read_dir(self.victim.daemon.state_directory().join(folder))? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                ensure!(!name.starts_with('.'), "{folder}/{name} was left behind");
                mine += usize::from(name.starts_with(&self.digest));
            }
            ensure!(
                mine <= usize::from(has_mine),
                "{folder} has {mine} files of a policy that is not loaded"
            );
            ensure!(folder == "compiled" || mine == usize::from(has_mine), "there is no copy of the policy");
        }
        Ok(())
    }

    /// The newest segment of the log.
    fn segment(&self) -> anyhow::Result<String> {
        let names = fs::read_dir(self.victim.daemon.state_directory())?;
        let mut paths: Vec<_> =
            names.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.retain(|path| is_segment(path));
        paths.sort();
        Ok(paths.pop().context("no log")?.display().to_string())
    }

    /// Does a step with a fault at one of its calls, kills the daemon at the latest after its answer, and checks the next one. Returns
    /// whether there was an answer.
    fn killed_at(&mut self, step: Step, place: &Place, effect: &'static str) -> anyhow::Result<bool> {
        self.prepare(step)?;
        let path = match &place.path {
            Some(path) => path.clone(),
            None => self.segment()?,
        };
        let fault = Fault { calls: place.call, effect, at: place.at };
        let tracer = fault.attach_to(&path, self.victim.pid()?, &self.victim.daemon.path("trace"))?;
        let answered = self.take(step)?;
        self.victim.kill()?;
        drop(tracer);
        let told = || format!("{step:?}, {effect} at {place:?}, answered: {answered}");
        self.victim.start().with_context(told)?;
        self.check(step, answered).with_context(told)?;
        Ok(answered)
    }

    /// Records a step, and returns its calls.
    fn calls(&mut self, step: Step) -> anyhow::Result<Vec<Place>> {
        self.prepare(step)?;
        let trace = self.victim.daemon.path("recorded");
        let tracer = record(self.victim.pid()?, &CALLS.join(","), &trace)?;
        ensure!(self.take(step)?, "{step:?} failed");
        drop(tracer);
        let state = self.victim.daemon.state_directory();
        let mut counts = BTreeMap::<(&'static str, String), u32>::new();
        let mut places = Vec::new();
        for line in fs::read_to_string(&trace)?.lines() {
            let Some((call, path)) = read(line, &state) else { continue };
            let at = counts.entry((call, path.clone())).or_default();
            *at += 1;
            let path = (!is_segment(Path::new(&path))).then_some(path);
            places.push(Place { call, path, at: *at });
        }
        Ok(places)
    }
}

fn is_segment(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."))
}

/// The call in a line of a trace and the path that it concerns, if it changes something in the state directory.
fn read(line: &str, state: &Path) -> Option<(&'static str, String)> {
    let (_, line) = line.split_once(' ')?;
    let (name, arguments) = line.trim_start().split_once('(')?;
    let call = CALLS.into_iter().find(|call| *call == name)?;
    if call == "openat" && !arguments.contains("O_CREAT") {
        return None;
    }
    let state = state.display().to_string();
    let rest = arguments.get(arguments.find(&state)?..)?;
    let path: String = rest.chars().take_while(|character| !['"', '>', ','].contains(character)).collect();
    Some((call, path))
}

fn killed(step: Step) -> anyhow::Result<()> {
    let mut node = Node::start()?;
    let places = node.calls(step)?;
    ensure!(!places.is_empty() && places.len() < MOST, "{} calls: {places:?}", places.len());
    let mut reached = 0;
    for place in &places {
        // It has been killed before it could answer, unless another call came first this time.
        reached += usize::from(!node.killed_at(step, place, "signal=KILL")?);
    }
    ensure!(reached * 2 > places.len(), "only {reached} of {} calls were reached: {places:?}", places.len());
    let late: Vec<_> = places.iter().filter(|place| place.path.is_none()).collect();
    for place in &late {
        ensure!(node.killed_at(step, place, LATE)?, "{step:?} failed with a slow disk");
    }
    println!(
        "{step:?}: killed at {reached} of {} calls, and after its answer with {} of them late",
        places.len(),
        late.len()
    );
    Ok(())
}
