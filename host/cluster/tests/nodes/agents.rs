//! Agents' own addresses on a network whose addresses come from blocks.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use tenure_agent::v1::claims_client::ClaimsClient;
use tenure_agent::v1::{ClaimId, EnsureClaimRequest, ReleaseClaimRequest};
use tenure_cluster::IPBlock;
use tenure_fixtures::wait;
use tenure_leases::BlockName;

use crate::Test;
use crate::node::Node;
use crate::world::{LIMIT, World};

pub(crate) const TESTS: &[Test] =
    &[("agents::an_agents_address_stays_through_all_that_happens_to_its_block", kept)];

/// The network of each node.
const NETWORK: &str = "pods";

/// The configuration of each node's agent, which has the user of this test.
pub(crate) fn table() -> anyhow::Result<String> {
    let uid = fs::metadata("/proc/self")?.uid();
    Ok(format!("[agents.router]\nuid = {uid}\nnetworks = [\"{NETWORK}\"]\naddresses = true\n"))
}

/// Waits for an answer over a node's socket for agents.
fn answered<T>(answer: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { tokio::time::timeout(LIMIT, answer).await? })
}

fn socket(node: &Node) -> PathBuf {
    node.daemon.run_directory().join("agent/agent.sock")
}

/// Makes sure of a claim, as often as an agent would; returns its addresses.
pub(crate) fn ensured(node: &Node, name: &str) -> anyhow::Result<Vec<IpAddr>> {
    wait::until("the agent's address", LIMIT, || {
        let claim = Some(tenure_agent::claim(NETWORK, name));
        let answer = answered(async {
            let mut client = ClaimsClient::new(tenure_agent::connect(socket(node)).await?);
            let request = EnsureClaimRequest { claim, ..EnsureClaimRequest::default() };
            Ok(client.ensure(request).await?.into_inner())
        });
        let Ok(answer) = answer else { return Ok(None) };
        let addresses = answer.claim.unwrap_or_default().addresses.into_iter();
        let ip = |text: &str| Ok(text.split('/').next().unwrap_or_default().parse()?);
        addresses.map(|address| ip(&address.address)).collect::<anyhow::Result<Vec<_>>>().map(Some)
    })
}

fn released(node: &Node, name: &str) -> anyhow::Result<()> {
    let claim = Some(ClaimId { network: NETWORK.to_owned(), name: name.to_owned() });
    answered(async {
        let mut client = ClaimsClient::new(tenure_agent::connect(socket(node)).await?);
        let request = ReleaseClaimRequest { claim, ..ReleaseClaimRequest::default() };
        Ok(client.release(request).await.map(drop)?)
    })
}

fn kept(world: &mut World) -> anyhow::Result<()> {
    // More than one block has room for, so that another one is left when the agent's is wanted back.
    let pods: Vec<String> = (0..16).map(|number| format!("before-{number}")).collect();
    world.nodes[0].add_at_once(&pods)?;
    let addresses = ensured(&world.nodes[0], "router")?;
    world.clear()?;
    let [address] = addresses[..] else { anyhow::bail!("{addresses:?}") };
    let blocks = world.blocks()?;
    let (cidr, _) = blocks.into_iter().find(|(cidr, _)| cidr.contains(&address)).context("no block")?;
    let name = BlockName::new("default", cidr)?.to_string();
    let lease = world.block_uid(&name)?.context("no lease")?;
    let is_kept = |world: &World, what: &str| -> anyhow::Result<()> {
        let now = ensured(&world.nodes[0], "router")?;
        ensure!(now == addresses, "{now:?} instead of {addresses:?} after {what}");
        ensure!(world.block_uid(&name)?.as_ref() == Some(&lease), "the lease of its block ended by {what}");
        Ok(())
    };
    world.stop_operator();
    world.start_operator()?;
    world.nodes[0].daemon.kill()?;
    world.nodes[0].daemon.launch()?;
    is_kept(world, "a restart of the operator and of the daemon")?;

    // The ledger is lost, and the network cannot be defined at once; meanwhile a person has deleted the block.
    let (known, missing) = ("policy = \"cluster-range\"", "policy = \"missing\"");
    let answer = |world: &World| -> anyhow::Result<Option<String>> {
        let acks =
            world.node_object(&world.nodes[0].name)?.map(|object| object.spec.acks).unwrap_or_default();
        Ok(acks.into_iter().find(|ack| ack.uid == lease).map(|ack| ack.answer))
    };
    world.nodes[0].daemon.kill()?;
    fs::remove_dir_all(world.nodes[0].daemon.state_directory())?;
    world.nodes[0].reconfigure(known, missing)?;
    world.delete::<IPBlock>(&name)?;
    wait::holds("the operator to ask for the block", LIMIT, || {
        let object = world.node_object(&world.nodes[0].name)?;
        let hints = object.and_then(|object| object.status).unwrap_or_default().blocks;
        Ok(hints.iter().any(|hint| hint.uid == lease && hint.mark.is_some()))
    })?;
    // The daemon ends between the confirmation and the first answer of the API server.
    world.plane.stop_server()?;
    world.nodes[0].daemon.launch()?;
    let adopted = world.nodes[0].daemon.ctl(&["adopt", "--empty"]).map(drop);
    let again = world.nodes[0].daemon.kill().and_then(|()| world.nodes[0].daemon.launch());
    world.start_server()?;
    adopted.and(again)?;
    let said = wait::until("the answer about the block", LIMIT, || answer(world))?;
    ensure!(said != "ready", "the block goes back, although the agent has an address of it");
    world.nodes[0].daemon.kill()?;
    world.nodes[0].reconfigure(missing, known)?;
    world.nodes[0].daemon.launch()?;
    is_kept(world, "the loss of the ledger")?;
    let pods: Vec<String> = (0..3).map(|number| format!("beside-{number}")).collect();
    let given = wait::until("addresses beside the agent's", LIMIT, || {
        Ok(pods.iter().map(|pod| world.nodes[0].add(pod)).collect::<anyhow::Result<Vec<_>>>().ok())
    })?;
    ensure!(!given.contains(&address), "a pod got the agent's address: {given:?}");
    world.referee()?;

    released(&world.nodes[0], "router")
}
