//! Claims on networks that assign prefixes.

use anyhow::{Context as _, ensure};
use tenure_e2e::Attachment;
use tenure_types::ErrorCode;

use super::agent::{Agent, claim, wanting};
use super::{code, config, first, start};

/// A network that has prefixes only, and the agent.
fn blocks(length: u8) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!(
        "[networks.pods.ipam]\nranges = [[{{ subnet = \"10.91.0.0/26\", delegatedPrefixLength = {length} }}]]\n\
         [agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\naddresses = true\n"
    )
}

/// The prefix of a claim, as it is listed.
fn prefix(agent: &Agent, name: &str) -> anyhow::Result<String> {
    let claim = agent.lists()??.into_iter().find(|claim| claim.name == name).context("not listed")?;
    let only = first(&claim.addresses)?;
    ensure!(only.is_prefix && claim.addresses.len() == 1, "{claim:?}");
    Ok(only.address.clone())
}

pub(crate) fn stay_whole() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&blocks(28))?;
    ensure!(agent.ensures(claim("router"))?? == ["10.91.0.0"]);
    ensure!(prefix(&agent, "router")? == "10.91.0.0/28");
    ensure!(agent.ensures(wanting("edge", "10.91.0.32"))?? == ["10.91.0.32"]);
    let inside = agent.ensures(wanting("inside", "10.91.0.20"))?;
    ensure!(code(inside) == Some(ErrorCode::AddressUnavailable), "an address inside of a prefix");
    daemon.kill()?;
    daemon.start_again()?;
    let agent = super::agent(&daemon)?;
    ensure!(agent.ensures(claim("router"))?? == ["10.91.0.0"], "after a kill");

    let refused = daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.error()?;
    ensure!(refused.msg.contains("prefixes only"), "{refused:?}");
    let shown = daemon.ctl(&["allocation", "10.91.0.5"])?;
    ensure!(shown.to_string().contains("\"router\""), "{shown}");
    for (name, expected) in [("third", "10.91.0.48"), ("fourth", "10.91.0.16")] {
        ensure!(agent.ensures(claim(name))?? == [expected], "{name}");
    }
    ensure!(code(agent.ensures(claim("fifth"))?) == Some(ErrorCode::PoolExhausted), "a fifth prefix");

    // No definition makes addresses of others out of a prefix that has an owner.
    daemon.stop()?;
    daemon.configure(&blocks(29))?;
    daemon.start_again()?;
    let agent = super::agent(&daemon)?;
    let status = daemon.ctl(&["status"])?.to_string();
    ensure!(status.contains("10.91.0.0/28") && status.contains("cilium"), "{status}");
    ensure!(prefix(&agent, "router")? == "10.91.0.0/28", "after a refused definition");
    Ok(())
}

pub(crate) fn beside_addresses() -> anyhow::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let (daemon, agent) = start(&format!(
        "[networks.pods.ipam]\nranges = [[{{ subnet = \"10.92.0.0/24\" }}], [{{ subnet = \"fd92::/48\", delegatedPrefixLength = 64 }}]]\n\
         [agents.cilium]\nuid = {uid}\nnetworks = [\"pods\"]\n"
    ))?;
    let both = agent.ensures(claim("router"))??;
    ensure!(both == ["10.92.0.2", "fd92::"], "{both:?}");
    let pod = daemon.shim()?.call("ADD", &Attachment::of("pod"), &config())?.address()?;
    ensure!(pod == "10.92.0.3/24", "{pod}");
    ensure!(agent.releases("pods", "router")??);
    ensure!(agent.ensures(claim("edge"))?? == ["10.92.0.4", "fd92:0:0:1::"]);
    Ok(())
}
