//! The unit with both drop-ins: a node on AWS. The metadata service is not on loopback, as on a real one. EC2 is: farther away, it is asked
//! with TLS alone.

use anyhow::{Context, ensure};
use tenure_e2e::wait;

use crate::door::Door;
use crate::machine::{Unit, boot};
use crate::node::{self, AwsNode, LIMIT};

const DROP_INS: [&str; 2] = ["tenure-eni.conf", "tenure-aws.conf"];

const SETTINGS: &str = "warm = { interfaces = 0, addresses = 1 }";

/// Where the daemon finds the metadata service, and where the double has it.
const DOOR: (&str, &str) = ("169.254.79.1:8102", "127.0.0.1:8102");

/// A machine on which the daemon has not been started.
fn prepare(drop_ins: &[&str]) -> anyhow::Result<(AwsNode, Door)> {
    let machine = boot(drop_ins)?;
    let (door, double) = DOOR;
    let config = node::config(SETTINGS, "").replace(double, door);
    let aws = AwsNode::on(machine, "t3.small", &config)?;
    Unit(&aws.node).configure(&config)?;
    aws.node.sh("ip addr add 169.254.79.1/32 dev lo")?;
    let door = Door::open(&aws.node.own(), door, double)?;
    Ok((aws, door))
}

pub(crate) fn grows() -> anyhow::Result<()> {
    let (mut aws, _door) = prepare(&DROP_INS)?;
    Unit(&aws.node).start()?;
    // The first interface has three.
    for number in 0..5 {
        aws.add(&format!("pod-{number}"))?;
    }
    ensure!(aws.double.interfaces()?.len() == 2, "{:?}", aws.double.interfaces()?);
    aws.all_have_their_way()?;
    aws.all_is_well()?;
    // What only the VPC's other networks would need: the program `nft` runs within the unit, too. And a sysctl is written.
    ensure!(aws.node.sh("nft list table ip tenure")?.contains("snat to"), "nothing is translated");
    let filter = aws.node.sh("cat /proc/sys/net/ipv4/conf/ens5/rp_filter")?;
    ensure!(filter == "2", "the reverse path filter of the primary interface is {filter}");
    Unit(&aws.node).restart()?;
    aws.all_have_their_way()?;
    aws.del("pod-0")?;
    aws.add("pod-5")?;
    aws.all_have_their_way()?;
    aws.all_is_well()?;
    Unit(&aws.node).systemctl(&["stop", "tenured"])?;
    Unit(&aws.node).is("inactive dead success")
}

/// The unit keeps the daemon from every address that is not on loopback; the drop-in opens the way.
pub(crate) fn opened() -> anyhow::Result<()> {
    let (mut aws, _door) = prepare(&DROP_INS[..1])?;
    Unit(&aws.node).systemctl(&["start", "tenured"])?;
    wait::holds("a daemon that reaches nobody", LIMIT, || {
        Ok(aws.condition("cloud-unreachable").ok().flatten().is_some())
    })?;
    let journal = aws.double.get("/journal")?;
    let calls = journal.as_array().context("a list of calls")?;
    ensure!(calls.iter().all(|call| call["face"] == "control"), "somebody was reached: {journal:#}");
    Unit(&aws.node).install(DROP_INS[1])?;
    Unit(&aws.node).restart()?;
    aws.add("pod-0")?;
    aws.all_have_their_way()?;
    aws.all_is_well()
}
