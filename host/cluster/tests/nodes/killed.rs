//! SIGKILL of the daemon and of the operator at each step by which a block is leased and given back: before a request arrives, after it had its
//! effect, and between the ledger's record and the network that grows.
//!
//! One node, with one pod, moves between two ranges of its pool, round after round: its pool's spec names the other range, so a block of that one is
//! leased, the old one is cordoned, and given back with its last pod. In each round both programs are killed at a step of their own.

use std::cell::RefCell;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Node as KubeNode;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock};
use tenure_fixtures::control_plane::ADMIN_TOKEN;
use tenure_fixtures::wait;

use crate::Test;
use crate::node::Node;
use crate::trap::KillMoment::{self, After, Before, Recorded};
use crate::trap::{SeenRequest, Trap};
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] = &[(
    "killed::killed_at_each_step_of_a_lease_and_of_a_release_both_programs_go_on_from_there",
    at_each_step,
)];

/// The node, and its pool.
const NODE: &str = "mortal";

/// The beginnings of the addresses of both ranges.
const RANGES: [&str; 2] = ["10.83.0.", "10.84.0."];

/// Before the effect of a write, and after it.
const AROUND: &[KillMoment] = &[Before, After];

/// A step of one program.
struct Step {
    what: &'static str,
    moments: &'static [KillMoment],
    /// Whether a request belongs to the step, in a round that leads from one range to another.
    is_it: fn(&SeenRequest<'_>, from: &str, to: &str) -> bool,
}

/// A list in an object.
fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn begins(value: &Value, field: &str, with: &str) -> bool {
    value[field].as_str().is_some_and(|text| text.starts_with(with))
}

/// Whether it is a word of the node that has so many blocks, the last of which is of a range.
fn says(request: &SeenRequest<'_>, count: usize, range: &str) -> bool {
    let held = list(request.object, "/spec/held");
    is_word(request) && held.len() == count && held.iter().any(|block| begins(block, "cidr", range))
}

fn is_word(request: &SeenRequest<'_>) -> bool {
    request.method == "PATCH" && request.path.ends_with("/nodeipams/mortal")
}

fn answers(request: &SeenRequest<'_>, answer: &str) -> bool {
    is_word(request) && list(request.object, "/spec/acks").iter().any(|ack| ack["answer"] == answer)
}

/// Whether it is the operator's half of the node's object.
fn is_told(request: &SeenRequest<'_>) -> bool {
    request.method == "PATCH" && request.path.ends_with("/nodeipams/mortal/status")
}

fn hints<'a>(request: &SeenRequest<'a>) -> &'a [Value] {
    list(request.object, "/status/blocks")
}

/// Whether it is about the block of a range, by a method.
fn is_about(request: &SeenRequest<'_>, method: &str, range: &str) -> bool {
    request.method == method
        && request.path.contains(&format!("/ipblocks/default.{}", range.replace('.', "-")))
}

/// The steps of the daemon.
const OF_NODE: &[Step] = &[
    Step {
        what: "it reads the block that it was hinted at",
        moments: &[Before],
        is_it: |request, _, to| is_about(request, "GET", to),
    },
    Step {
        what: "it reads the space after the block",
        moments: &[Before],
        is_it: |request, _, _| request.method == "GET" && request.path.ends_with("/addressspaces/default"),
    },
    Step {
        what: "it has recorded the lease",
        moments: &[Recorded],
        is_it: |request, _, _| request.method == "GET" && request.path.ends_with("/addressspaces/default"),
    },
    Step {
        what: "it says that it holds the block",
        moments: AROUND,
        is_it: |request, _, to| says(request, 2, to),
    },
    Step {
        what: "it answers that the old block is cordoned",
        moments: AROUND,
        is_it: |request, _, _| answers(request, "cordoned"),
    },
    Step {
        what: "it answers that the old block is ready",
        moments: AROUND,
        is_it: |request, _, _| answers(request, "ready"),
    },
    Step {
        what: "it no longer says that it holds the old block",
        moments: AROUND,
        is_it: |request, _, to| says(request, 1, to),
    },
];

/// The steps of the operator.
const OF_OPERATOR: &[Step] = &[
    Step {
        what: "it creates the block",
        moments: AROUND,
        is_it: |request, _, _| {
            request.method == "POST"
                && request.path.ends_with("/ipblocks")
                && request.object["spec"]["nodeName"] == NODE
        },
    },
    Step {
        what: "it hints at the block",
        moments: AROUND,
        is_it: |request, _, to| {
            is_told(request) && hints(request).iter().any(|hint| begins(hint, "cidr", to))
        },
    },
    Step {
        what: "it marks the old block",
        moments: AROUND,
        is_it: |request, from, _| {
            is_about(request, "PATCH", from) && request.object["status"]["mark"]["id"].is_string()
        },
    },
    Step {
        what: "it hints at the mark",
        moments: AROUND,
        is_it: |request, _, _| is_told(request) && hints(request).iter().any(|hint| hint["mark"].is_object()),
    },
    Step {
        what: "it deletes the old block",
        moments: AROUND,
        is_it: |request, from, _| is_about(request, "DELETE", from),
    },
    Step {
        what: "it takes its finalizer from the old block",
        moments: AROUND,
        is_it: |request, from, _| {
            is_about(request, "PATCH", from) && request.object["metadata"]["finalizers"].is_array()
        },
    },
    Step {
        what: "it no longer hints at the old block",
        moments: AROUND,
        is_it: |request, _, to| {
            let hints = hints(request);
            is_told(request) && hints.len() == 1 && hints.iter().all(|hint| begins(hint, "cidr", to))
        },
    },
];

/// The world, with a trap on the way of each program.
struct Trapped<'a> {
    world: RefCell<&'a mut World>,
    index: usize,
    of_node: Trap,
    of_operator: Trap,
}

impl Trapped<'_> {
    /// Starts again what was killed.
    fn revive(&self) -> anyhow::Result<()> {
        let mut world = self.world.borrow_mut();
        if self.of_operator.has_caught() {
            world.stop_operator();
            world.start_operator()?;
            self.of_operator.runs(world.operator_pid()?);
        }
        while self.of_node.has_caught() {
            let daemon = &mut world.nodes[self.index].daemon;
            daemon.kill()?;
            daemon.spawn()?;
            // Before its first request, which may be the one at which it is killed again.
            self.of_node.runs(daemon.pid()?);
            wait::holds(
                "the daemon to answer",
                LIMIT,
                || Ok(self.of_node.has_caught() || daemon.answers()?),
            )?;
        }
        Ok(())
    }

    /// Starts again what is killed, until something holds.
    fn until(
        &self,
        what: &str,
        mut check: impl FnMut(&mut World) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        wait::holds(what, LIMIT, || {
            self.revive()?;
            let holds = check(&mut self.world.borrow_mut())?;
            // It may have been killed by what made it hold.
            self.revive()?;
            Ok(holds)
        })
    }

    /// Waits until exactly one block of the range is leased, the node holds and names it, it has no mark, and no other range is left.
    fn settles(&self, range: &str) -> anyhow::Result<()> {
        self.until("one block without a mark", |world| is_at_rest(world, range))
    }

    /// Has the node move from one range to another.
    fn moves(&self, round: usize, from: &str, to: &str) -> anyhow::Result<()> {
        let steps = [OF_NODE.get(round), OF_OPERATOR.get(round)];
        let [of_node, of_operator] = steps.map(|step| step.context("no such step"));
        let (of_node, of_operator) = (of_node?, of_operator?);
        let old = format!("old-{round}");
        let node_pid = {
            let mut world = self.world.borrow_mut();
            world.nodes[self.index].add(&old)?;
            world.nodes[self.index].daemon.pid()?
        };
        let operator_pid = self.world.borrow().operator_pid()?;
        self.of_node.set(node_pid, of_node.moments, of_round(of_node, from, to));
        self.of_operator.set(operator_pid, of_operator.moments, of_round(of_operator, from, to));
        let cidrs = json!({ "spec": { "ipv4": { "cidrs": [format!("{to}0/26")] } } });
        self.world.borrow().change::<AddressPool>(NODE, &cidrs)?;
        self.until("the old block to be cordoned", |world| {
            let acks = world.node_object(NODE)?.map(|object| object.spec.acks).unwrap_or_default();
            Ok(acks.iter().any(|ack| ack.answer == "cordoned"))
        })?;
        {
            let mut world = self.world.borrow_mut();
            let address = world.nodes[self.index].add(&format!("new-{round}"))?;
            ensure!(address.to_string().starts_with(to), "{address} is of a range that drains");
            world.referee()?;
            world.nodes[self.index].del(&old)?;
        }
        self.settles(to)?;
        let mut world = self.world.borrow_mut();
        world.referee()?;
        for (step, trap) in [(of_node, &self.of_node), (of_operator, &self.of_operator)] {
            let left = trap.left();
            ensure!(left.is_empty(), "{}: not killed {left:?}", step.what);
        }
        world.nodes[self.index].del(&format!("new-{round}"))
    }
}

/// Whether a request belongs to a step of a round.
fn of_round(step: &Step, from: &str, to: &str) -> impl FnMut(&SeenRequest<'_>) -> bool + Send + 'static {
    let (is_it, from, to) = (step.is_it, from.to_owned(), to.to_owned());
    move |request| is_it(request, &from, &to)
}

fn is_at_rest(world: &World, range: &str) -> anyhow::Result<bool> {
    let api: Api<IPBlock> = Api::all(world.client.clone());
    let blocks = world.runtime.block_on(call(api.list(&ListParams::default())))?.items;
    let blocks: Vec<IPBlock> = blocks.into_iter().filter(|block| block.spec.pool.name == NODE).collect();
    let ([block], Some(object)) = (blocks.as_slice(), world.node_object(NODE)?) else { return Ok(false) };
    let uid = block.metadata.uid.clone().unwrap_or_default();
    let status = block.status.as_ref();
    let is_plain = block.metadata.deletion_timestamp.is_none()
        && status.is_none_or(|status| status.mark.is_none() && status.phase.is_empty());
    let held: Vec<&String> = object.spec.held.iter().map(|held| &held.uid).collect();
    let told = object.status.unwrap_or_default().blocks;
    let api: Api<AddressSpace> = Api::all(world.client.clone());
    let ranges = world.runtime.block_on(call(api.get("default")))?.spec.ranges;
    let mut ranges = ranges.iter().filter(|entry| entry.pool.name == NODE);
    Ok(is_plain
        && block.spec.cidr.starts_with(range)
        && held == [&uid]
        && object.spec.acks.is_empty()
        && matches!(told.as_slice(), [hint] if hint.uid == uid && hint.mark.is_none())
        && ranges.next().is_some_and(|entry| entry.cidr.starts_with(range))
        && ranges.next().is_none())
}

/// Starts the node, and has it say its first words twice.
fn joins(trapped: &Trapped<'_>) -> anyhow::Result<()> {
    let node_pid = {
        let mut world = trapped.world.borrow_mut();
        world.nodes[trapped.index].daemon.spawn()?;
        world.nodes[trapped.index].daemon.pid()?
    };
    let operator_pid = trapped.world.borrow().operator_pid()?;
    trapped.of_operator.set(operator_pid, &[], |_| false);
    trapped.of_node.set(node_pid, AROUND, is_word);
    trapped.settles(RANGES[0])?;
    let left = trapped.of_node.left();
    ensure!(left.is_empty(), "the first words: not killed {left:?}");
    Ok(())
}

fn at_each_step(world: &mut World) -> anyhow::Result<()> {
    let (of_node, of_operator) = (world.plane.proxy()?, world.plane.proxy()?);
    let spec = json!({ "ipv4": { "cidrs": [format!("{}0/26", RANGES[0])], "blockPrefix": 28 }, "cooldownSeconds": 0 });
    world.create(&AddressPool::new(NODE, serde_json::from_value(spec)?))?;
    let kubeconfig = of_node.kubeconfig(ADMIN_TOKEN)?;
    let node = Node::prepare_with(NODE, &kubeconfig, &[NODE], "[\"ipv4\"]")?;
    world.create(&serde_json::from_value::<KubeNode>(node.object()?)?)?;
    let state = node.daemon.state_directory();
    world.nodes.push(node);
    let index = world.nodes.len() - 1;
    world.stop_operator();
    world.operators_kubeconfig = of_operator.kubeconfig(ADMIN_TOKEN)?;
    world.start_operator()?;
    let trapped = Trapped {
        of_node: Trap::on(&of_node, &state),
        of_operator: Trap::on(&of_operator, &state),
        world: RefCell::new(world),
        index,
    };
    let walked = joins(&trapped).and_then(|()| {
        let rounds = OF_NODE.len().max(OF_OPERATOR.len());
        (0..rounds).try_for_each(|round| {
            let (from, to) = (RANGES[round % 2], RANGES[(round + 1) % 2]);
            trapped.moves(round, from, to).with_context(|| format!("round {round}"))
        })
    });
    // Both go on without a proxy.
    world.stop_operator();
    world.operators_kubeconfig = world.kubeconfig.clone();
    world.start_operator()?;
    let direct = world.kubeconfig.display().to_string();
    let node = &mut world.nodes[index];
    node.reconfigure(&kubeconfig.display().to_string(), &direct)?;
    node.daemon.kill()?;
    node.daemon.launch()?;
    walked
}
