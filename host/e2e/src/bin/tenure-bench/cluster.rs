//! Blocks of a cluster: measured by an example of the cluster's crate, which simulates the agents of many nodes against a real API server and the
//! real operator.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;
use tenure_e2e::binaries;

use crate::report::{Row, Unit};

/// The example's path: set by `cargo xtask bench`; otherwise in the `examples` folder next to the bench.
fn example() -> anyhow::Result<PathBuf> {
    match std::env::var_os("TENURE_HERD") {
        Some(path) => Ok(path.into()),
        None => binaries::find("examples/herd"),
    }
}

/// Measures with so many simulated agents, and so many ADDs on a real node with a cluster and on one without.
pub(crate) fn measure(agents: u32, adds: u32) -> anyhow::Result<Vec<Row>> {
    let output = Command::new(example()?).args([agents, adds].map(|count| count.to_string())).output();
    let output = output.context("herd")?;
    ensure!(output.status.success(), "herd: {}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| answer.get(name).and_then(Value::as_f64).with_context(|| name.to_owned());
    let seconds = |name: &str| Ok::<_, anyhow::Error>(Unit::Seconds.of(number(name)? / 1e3));
    let us = |name: &str| Ok::<_, anyhow::Error>(Unit::Microseconds.of(number(name)?));
    let mb = |name: &str| Ok::<_, anyhow::Error>(Unit::Megabytes.of(number(name)?));
    let of = format!("{agents} nodes");
    let more = number("daemon_joined_megabytes")? - number("daemon_alone_megabytes")?;
    Ok(vec![
        Row::new(format!("API writes of {of} at rest"), Unit::Count.of(number("writes_at_rest")?))
            .at_most(0.0),
        Row::new("API writes of an agent that joins", Unit::Each.of(number("agent_writes_per_join")?))
            .raw("that gets one block more", Unit::Each.of(number("agent_writes_per_growth")?)),
        Row::new(
            "events to agents, per change of a node's object",
            Unit::Each.of(number("events_per_write")?),
        )
        .at_most(1.0)
        .raw("changes of a node that gets one block more", Unit::Each.of(number("node_writes_per_growth")?))
        .raw("events to an agent that joins", Unit::Each.of(number("events_per_join")?)),
        Row::new(format!("lease of a block p99, {of} join"), seconds("join_lease_p99_ms")?)
            .raw("p50", seconds("join_lease_p50_ms")?)
            .raw("all of them", Unit::Seconds.of(number("join_seconds")?)),
        Row::new(format!("lease of a block p99, {of} ask, 40 each second"), seconds("grow_lease_p99_ms")?)
            .raw("p50", seconds("grow_lease_p50_ms")?),
        Row::new(
            "from holding the Lease to the operator's first grant",
            Unit::Seconds.of(number("hold_to_grant_seconds")?),
        )
        .at_most(5.0)
        .raw("from its start", Unit::Seconds.of(number("restart_to_grant_seconds")?))
        .raw("blocks", Unit::Count.of(number("blocks")?)),
        Row::new(format!("RSS of the operator, {of}"), mb("operator_megabytes")?)
            .at_most(60.0)
            .raw("at most", mb("operator_peak_megabytes")?)
            .raw("its successor", mb("successor_megabytes")?)
            .raw("the API server", mb("server_megabytes")?),
        Row::new(
            "plugin ADD p50 on the node of a cluster, over a node without one",
            Unit::Times.of(number("add_joined_us")? / number("add_alone_us")?),
        )
        .at_most(1.02)
        .raw("joined", us("add_joined_us")?)
        .raw("alone", us("add_alone_us")?),
        Row::new("API writes of a pod's life, whereabouts 8", Unit::Each.of(number("writes_per_pod")?))
            .at_most(0.0)
            .raw("of a pod without a DEL", Unit::Each.of(number("writes_per_leak")?)),
        Row::new(
            "API reads of a pod's life, whereabouts at least 8",
            Unit::Each.of(number("reads_per_pod")?),
        )
        .at_most(1.0)
        .raw("of a pod without a DEL", Unit::Each.of(number("reads_per_leak")?)),
        Row::new(
            "from a pod's deletion without a DEL to the free address, beyond the grace period",
            Unit::Seconds.of(number("leak_seconds")? - number("grace_seconds")?),
        )
        .at_most(2.0)
        .raw("grace period", Unit::Seconds.of(number("grace_seconds")?)),
        Row::new("RSS of a daemon in a cluster, beyond one without", Unit::Megabytes.of(more))
            .at_most(15.0)
            .raw("joined", mb("daemon_joined_megabytes")?)
            .raw("alone", mb("daemon_alone_megabytes")?),
    ])
}
