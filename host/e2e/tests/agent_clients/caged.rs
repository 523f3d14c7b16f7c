//! Agents in cages, while they and the daemon are killed and pods come and go beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::cage::{Cage, MOUNTED};
use tenure_e2e::random::{self, Random};
use tenure_e2e::{Attachment, Daemon};

use super::example::{self, Claims, Example};

/// The agents: the user and group of each on the node, and its claims. Each is root in its cage.
const AGENTS: [(u32, &[&str]); 2] = [(42_101, &["health", "router"]), (42_102, &["ingress"])];

/// The environment variable for the number of rounds.
const ROUNDS: &str = "TENURE_AGENT_ROUNDS";

const CONFIG: &str = "[networks.pods.ipam]
ranges = [[{ subnet = \"10.93.0.0/24\", gateway = \"10.93.0.1\" }]]
[claims]
socket_mode = \"0666\"
[agents.one]
uid = 42101
networks = [\"pods\"]
[agents.two]
uid = 42102
networks = [\"pods\"]
";

/// A node with two agents and some pods.
struct Node {
    daemon: Daemon,
    cage: Cage,
    agents: [Option<Example>; 2],
    /// The claims of both agents, from the beginning.
    claims: Claims,
    /// Every pod that was added and not deleted.
    pods: BTreeSet<u64>,
    /// How often agents and the daemon were ended.
    ends: [u32; 3],
    random: Random,
}

pub(crate) fn rounds(program: &Path, number: u64) -> anyhow::Result<()> {
    random::seeds("agent-clients")?.try_for_each(|seed| rounds_of(program, number, seed))
}

fn rounds_of(program: &Path, number: u64, seed: u64) -> anyhow::Result<()> {
    let random = Random::new(seed);
    let daemon = Daemon::start_with(CONFIG)?;
    let cage = Cage::new(program)?;
    let mut node = Node {
        daemon,
        cage,
        agents: [None, None],
        claims: Claims::new(),
        pods: BTreeSet::new(),
        ends: [0; 3],
        random,
    };
    for which in 0..AGENTS.len() {
        node.starts(which)?;
        let agent = node.agent(which)?;
        let known = agent.knows("current", names(which).len())?;
        check_cage(agent.pid()?)?;
        node.claims.extend(known);
    }
    ensure!(node.claims.len() == 3, "{:?}", node.claims);
    for round in 0..random::rounds(ROUNDS, number)? {
        node.round(round).with_context(|| format!("round {round}"))?;
    }
    println!("ended the agents and the daemon {:?} times", node.ends);
    node.ends()
}

/// Checks that an agent sees nothing of the node but the directory, and cannot write there.
fn check_cage(pid: u32) -> anyhow::Result<()> {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    let seen: Vec<(&str, bool)> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(4);
            Some((words.next()?, words.next()?.split(',').any(|option| option == "ro")))
        })
        .collect();
    let expected =
        |(place, is_read_only): &(&str, bool)| *place == "/" || (*place == MOUNTED && *is_read_only);
    ensure!(seen.iter().all(expected) && seen.iter().any(|(place, _)| *place == MOUNTED), "{mounts}");
    let namespace = |of: &str, kind: &str| fs::read_link(format!("/proc/{of}/ns/{kind}"));
    for kind in ["mnt", "pid", "user"] {
        ensure!(
            namespace(&pid.to_string(), kind)? != namespace("self", kind)?,
            "the node's own {kind} namespace"
        );
    }
    Ok(())
}

fn names(which: usize) -> &'static [&'static str] {
    AGENTS.get(which).map_or(&[], |(_, names)| names)
}

impl Node {
    /// Kills some of the three in any order, starts them again in any order, and lets pods come and go in between.
    fn round(&mut self, round: u64) -> anyhow::Result<()> {
        let mut who: Vec<usize> = (0..=AGENTS.len()).collect();
        // Agents are killed more often, because daemons take longer to start.
        who.retain(|which| self.random.below(if *which == AGENTS.len() { 5 } else { 2 }) == 0);
        self.shuffle(&mut who);
        for which in &who {
            self.kills(*which)?;
            self.pod(round)?;
        }
        self.shuffle(&mut who);
        for which in &who {
            self.starts(*which)?;
            self.pod(round)?;
        }
        self.pod(round)?;
        self.agrees()
    }

    fn shuffle(&mut self, list: &mut [usize]) {
        for last in (1..list.len()).rev() {
            let other = self.random.below(last as u64 + 1);
            list.swap(last, usize::try_from(other).unwrap_or_default());
        }
    }

    fn agent(&mut self, which: usize) -> anyhow::Result<&mut Example> {
        self.agents.get_mut(which).and_then(Option::as_mut).context("the agent is not running")
    }

    /// An agent, or the daemon after the last of them.
    fn kills(&mut self, which: usize) -> anyhow::Result<()> {
        if let Some(count) = self.ends.get_mut(which) {
            *count += 1;
        }
        match self.agents.get_mut(which) {
            Some(agent) => {
                let said = agent.take().context("the agent is not running")?.kill();
                self.check(&said)?;
            }
            // Sometimes as a service manager does, which an agent hears of.
            None if self.random.below(3) == 0 => drop(self.daemon.stop()?),
            None => self.daemon.kill()?,
        }
        Ok(())
    }

    fn starts(&mut self, which: usize) -> anyhow::Result<()> {
        let Some((user, names)) = AGENTS.get(which) else { return self.daemon.start_again() };
        let socket = format!("{MOUNTED}/agent.sock");
        let arguments = [&[socket.as_str(), "pods"], *names].concat();
        let node = self.daemon.run_directory().join("agent");
        let agent = Example::start(self.cage.command(*user, &node, &arguments))?;
        *self.agents.get_mut(which).context("no such agent")? = Some(agent);
        Ok(())
    }

    /// Adds or deletes a pod. While the daemon is away an ADD fails, and a DEL is carried out later.
    fn pod(&mut self, round: u64) -> anyhow::Result<()> {
        let shim = self.daemon.shim()?;
        let config =
            json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "wait": 0 } });
        let pod = |number: u64| Attachment::of(format!("pod-{number}"));
        let oldest = self.pods.first().copied().filter(|_| self.random.below(3) == 0 || self.pods.len() > 40);
        if let Some(number) = oldest {
            shim.call("DEL", &pod(number), &config)?.silent()?;
            self.pods.remove(&number);
            return Ok(());
        }
        let number = round * 100 + self.random.below(100);
        if self.pods.contains(&number) {
            return Ok(());
        }
        let outcome = shim.call("ADD", &pod(number), &config)?;
        if self.daemon.pid().is_err() {
            outcome.error_code(11)?;
            return Ok(());
        }
        let address = outcome.address()?;
        self.pods.insert(number);
        ensure!(
            self.claims.values().all(|claim| *claim != address),
            "pod {number} got {address} of {:?}",
            self.claims
        );
        Ok(())
    }

    /// Waits until each agent is up to date, and compares all addresses that it has ever known with those of the beginning.
    fn agrees(&mut self) -> anyhow::Result<()> {
        for which in 0..AGENTS.len() {
            let agent = self.agent(which)?;
            agent.knows("current", names(which).len())?;
            let said = agent.lines();
            self.check(&said)?;
        }
        Ok(())
    }

    /// Compares all that an agent has said.
    fn check(&self, said: &[String]) -> anyhow::Result<()> {
        for line in said {
            let claims = ["current", "away"].iter().find_map(|state| example::claims(line, state));
            let claims = claims.with_context(|| format!("it said {line}"))?;
            let is_same = claims.iter().all(|(name, address)| self.claims.get(name) == Some(address));
            ensure!(is_same, "{line} instead of {:?}", self.claims);
        }
        Ok(())
    }

    /// Nothing is left of the pods, and of the agents just what they claim; then nothing of them either.
    fn ends(mut self) -> anyhow::Result<()> {
        let shim = self.daemon.shim()?;
        let config =
            json!({ "cniVersion": "1.1.0", "name": "pods", "ipam": { "type": "tenure", "wait": 0 } });
        for number in &self.pods {
            shim.call("DEL", &Attachment::of(format!("pod-{number}")), &config)?.silent()?;
        }
        let held: BTreeSet<String> = self.held()?.into_iter().collect();
        let claimed: BTreeSet<String> = self.claims.values().cloned().collect();
        ensure!(held == claimed, "{held:?} is held, {claimed:?} is claimed");
        for (which, (user, _)) in AGENTS.iter().enumerate() {
            self.kills(which)?;
            let socket = format!("{MOUNTED}/agent.sock");
            let node = self.daemon.run_directory().join("agent");
            Example::start(self.cage.command(*user, &node, &[&socket, "pods"]))?.knows("current", 0)?;
        }
        let held = self.held()?;
        ensure!(held.is_empty(), "leaked: {held:?}");
        Ok(())
    }

    /// The addresses that are allocated.
    fn held(&self) -> anyhow::Result<Vec<String>> {
        let allocations = self.daemon.allocations("pods")?;
        let addresses = allocations.iter().flat_map(|found| found.get("addresses").and_then(Value::as_array));
        let text = |address: &Value| match address.as_str() {
            Some(text) => Some(text.to_owned()),
            None => address.get("address").and_then(Value::as_str).map(str::to_owned),
        };
        addresses.flatten().map(|address| text(address).with_context(|| address.to_string())).collect()
    }
}
