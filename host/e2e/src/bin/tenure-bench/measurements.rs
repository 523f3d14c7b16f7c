//! The measurements of each group of rows, on one daemon.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum as _;
use serde_json::json;
use tenure_e2e::{Daemon, binaries};
use tokio::runtime::Runtime;

use crate::exec::{Subject, network};
use crate::parts::Parts;
use crate::report::{Figure, Report, Row, Unit};
use crate::restarts::Ending;
use crate::scale::{Large, Rows, Scale};
use crate::times::Times;
use crate::turns::{Turns, at_once};
use crate::{
    agents, cluster, declared, idle, instructions, load, machine, policy, restarts, stalls, start, steady,
};

/// The inputs that all measurements share.
struct Bench<'a> {
    scale: &'a Scale,
    runtime: Runtime,
    daemon: Daemon,
}

fn us(microseconds: f64) -> Figure {
    Unit::Microseconds.of(microseconds)
}

/// Makes the measurements of these rows; of all rows if there are none.
pub(crate) fn measure(scale: &Scale, needs_disk: bool, only: &[Rows]) -> anyhow::Result<Report> {
    let mut daemon = Daemon::prepare()?;
    let metrics = format!("[metrics]\nlisten = \"{}\"\n", daemon.metrics_address());
    daemon.configure(&format!("{metrics}{}{}", many_ranges(), recorded()))?;
    let machine = machine::describe(&daemon.path(""), needs_disk)?;
    daemon.start_again()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = Bench { scale, runtime, daemon };

    let (mut rows, mut parts) = (Vec::new(), None);
    for group in Rows::value_variants().iter().filter(|group| only.is_empty() || only.contains(group)) {
        match group {
            Rows::Turns => {
                rows.extend(bench.one_after_another()?);
                say("where the time of an ADD goes");
                let config = network(&bench.daemon, "bench-parts", "10.1.0.0/16");
                parts = Some(Parts::measure(&bench.daemon, &config, scale.rounds)?);
            }
            Rows::AtOnce => rows.extend(bench.many_at_once()?),
            Rows::Grpc => rows.extend(bench.over_grpc()?),
            Rows::Steady => rows.extend(bench.steadily()?),
            Rows::Agents => rows.push(bench.beside_agents()?),
            Rows::Declared => rows.push(bench.beside_declarations()?),
            Rows::Policy => rows.extend(bench.policy_calls()?),
            Rows::Stalls => rows.extend(bench.beside_stalls()?),
            Rows::Restarts => rows.extend(bench.restarted()?),
            Rows::Idle => rows.push(bench.idle()?),
            Rows::Cluster => rows.extend(bench.in_a_cluster()?),
            Rows::Large => rows.extend(bench.large_states()?),
            Rows::Size => rows.extend(bench.size_and_instructions()?),
        }
    }
    Ok(Report::new(machine, rows, parts))
}

impl Bench<'_> {
    fn subject(&self, name: &str, subnet: &str) -> anyhow::Result<Subject> {
        Subject::tenure(&self.daemon, vec![network(&self.daemon, name, subnet)])
    }

    /// A network in which `count` addresses are allocated.
    fn filled(&self, name: &str, subnet: &str, count: u32) -> anyhow::Result<Subject> {
        let config = network(&self.daemon, name, subnet);
        self.runtime.block_on(load::fill(&self.daemon, &config, "filled", count))?;
        Subject::tenure(&self.daemon, vec![config])
    }

    /// A network with another policy in its shadow.
    fn shadowed(&self, name: &str, subnet: &str) -> anyhow::Result<Subject> {
        let subject = self.filled(name, subnet, 1)?;
        self.daemon.ctl(&["policy", "shadow", name, "highest-first"])?;
        Ok(subject)
    }

    /// Runs one program at a time, in turns: what an ADD costs, and how the cost grows with the state.
    fn one_after_another(&self) -> anyhow::Result<Vec<Row>> {
        say("filling networks");
        let mut turns = Turns::default();
        let least = turns.join(Subject::bin_true());
        let peer = turns.join(Subject::host_local(network(&self.daemon, "bench-peer", "10.1.0.0/16"))?);
        let empty = turns.join(self.subject("bench-empty", "10.1.0.0/16")?);
        let mut beside = Vec::new();
        let [first, second, third] = self.scale.sizes;
        for ((count, name), most) in [(third, Some(1.1)), (second, None), (first, None)] {
            let place = turns.join(self.filled(&format!("bench-{name}"), "10.2.0.0/16", count)?);
            beside.push((format!("... with {name} allocated in the /16, over empty"), place, most));
        }
        for (name, subnet) in
            [("v4 /24", "10.3.0.0/24"), ("v4 /8", "11.0.0.0/8"), ("v6 /64", "fd00:bead::/64")]
        {
            let place =
                turns.join(self.subject(&format!("bench-{}", name.replace([' ', '/'], "-")), subnet)?);
            beside.push((format!("... in a {name}, over the /16"), place, None));
        }
        let many = self.scale.networks;
        let networks =
            (0..many).map(|number| network(&self.daemon, &format!("bench-of-many-{number}"), "10.4.0.0/16"));
        let place = turns.join(Subject::tenure(&self.daemon, networks.collect())?);
        beside.push((format!("... in {many} networks, over one"), place, None));
        let defined =
            json!({ "cniVersion": "1.0.0", "name": RANGES, "type": "bench", "ipam": { "type": "tenure" } });
        let place = turns.join(Subject::tenure(&self.daemon, vec![defined])?);
        beside.push(("... in a pool of 1000 ranges, over one".to_owned(), place, None));
        let place = turns.join(self.subject(RECORDED, "10.1.0.0/16")?);
        beside.push(("... recorded (`record = 1000`), over not recorded".to_owned(), place, Some(1.05)));
        let place = turns.join(self.shadowed(SHADOWED, "10.1.0.0/16")?);
        beside.push(("... with another policy in its shadow, over none".to_owned(), place, Some(1.05)));
        let place = turns.join(self.subject("bench-again", "10.1.0.0/16")?);
        beside.push(("... in another empty /16: the noise of this run".to_owned(), place, None));

        say("one program at a time, in turns: /bin/true, host-local, the plugin in each network");
        let outcome = turns.run(self.scale.rounds)?;
        let (ours, least, peer) =
            (outcome.of(empty)?, outcome.of(least)?.median(), outcome.of(peer)?.median());
        let p50 = ours.median();
        let mut rows = vec![
            Row::new("plugin ADD p50, beyond exec of /bin/true", us(p50 - least))
                .at_most(600.0)
                .raw("ADD", us(p50))
                .raw("its p99", us(ours.percentile(99)))
                .raw("/bin/true", us(least)),
            Row::new("plugin ADD p50, over host-local", Unit::Times.of(p50 / peer))
                .at_most(0.45)
                .raw("ADD", us(p50))
                .raw("host-local", us(peer)),
        ];
        for (measure, place, most) in beside {
            let figure = outcome.of(place)?.median();
            let row =
                Row::new(measure, Unit::Times.of(figure / p50)).raw("ADD", us(figure)).raw("over", us(p50));
            rows.push(match most {
                Some(most) => row.at_most(most),
                None => row,
            });
        }
        Ok(rows)
    }

    fn many_at_once(&self) -> anyhow::Result<Vec<Row>> {
        let config = network(&self.daemon, "bench-at-once", "10.64.0.0/10");
        let (least, ours) = (Subject::bin_true(), Subject::tenure(&self.daemon, vec![config.clone()])?);
        let peer = Subject::host_local(config)?;
        let rate = |value: f64| Unit::PerSecond.of(value);
        let mut rows = Vec::new();
        for callers in [1, 8, 32, 128] {
            say(&format!("{callers} concurrent programs"));
            let measure = format!("{callers} concurrent plugin ADDs, over /bin/true");
            let total = self.scale.at_once.max(callers * 4);
            // The peer is by far the slowest; one row with it is enough.
            let row = if callers == 32 {
                let [least, ours, peer] = at_once(callers, total, [&least, &ours, &peer])?;
                let row = Row::new(measure, Unit::Times.of(ours / least)).at_least(0.6);
                row.raw("ADD", rate(ours)).raw("/bin/true", rate(least)).raw("host-local", rate(peer))
            } else {
                let [least, ours] = at_once(callers, total, [&least, &ours])?;
                let row = Row::new(measure, Unit::Times.of(ours / least));
                row.raw("ADD", rate(ours)).raw("/bin/true", rate(least))
            };
            rows.push(row);
        }
        Ok(rows)
    }

    fn over_grpc(&self) -> anyhow::Result<Vec<Row>> {
        say("gRPC ADDs, each durable");
        let callers = [64, 1, 8, 32, 128];
        let rates = self.runtime.block_on(load::rates(&self.daemon, self.scale.throughput, callers))?;
        let rows = callers.into_iter().zip(rates).map(|(callers, rate)| {
            let row = Row::new(format!("gRPC ADD, {callers} in flight, durable"), Unit::PerSecond.of(rate));
            if callers == 64 { row.at_least(15_000.0) } else { row }
        });
        let mut rows: Vec<_> = rows.collect();
        self.shadowed(RATE_SHADOWED, "10.64.0.0/10")?;
        let [plain, recorded, shadowed] = self.runtime.block_on(load::rates_of(
            &self.daemon,
            self.scale.throughput,
            ["bench-rate-plain", RATE_RECORDED, RATE_SHADOWED],
        ))?;
        for (what, rate) in
            [("recorded (`record = 1000`)", recorded), ("with a policy in the shadow", shadowed)]
        {
            let measure = format!("gRPC ADD, 64 in flight, {what}, time over without");
            let row = Row::new(measure, Unit::Times.of(plain / rate));
            rows.push(row.raw("with", Unit::PerSecond.of(rate)).raw("without", Unit::PerSecond.of(plain)));
        }
        self.daemon.ctl(&["policy", "shadow", RATE_SHADOWED, "--end"])?;
        Ok(rows)
    }

    /// A steady load, and 1,000 exchanges of the policy beside it.
    fn steadily(&self) -> anyhow::Result<Vec<Row>> {
        say("500 ADDs per second, with and without exchanges of the policy");
        let steady = steady::measure(&self.runtime, self.scale.steady, self.scale.exchanges)?;
        let p99 = |times: &Times| times.percentile(99);
        let (p50, alone, beside) = (steady.alone.median(), p99(&steady.alone), p99(&steady.exchanging));
        let over_p50 =
            Row::new("p99 of ADD at a steady 500/s, over p50", Unit::Times.of(alone / p50.max(1.0)))
                .at_most(3.0)
                .raw("p50", us(p50))
                .raw("p99", us(alone))
                .raw("p99 of sync <", us(steady.slow_sync))
                .raw("sent late by p99", us(p99(&steady.late)));
        let (without, with) = steady.grown;
        let measure =
            format!("... with {} exchanges of the policy, p99 over p99 without", self.scale.exchanges);
        let exchanging = Row::new(measure, Unit::Times.of(beside / alone.max(1.0)))
            .at_most(1.1)
            .raw("p50", us(steady.exchanging.median()))
            .raw("p99", us(beside))
            .raw("an exchange", us(steady.exchange.median()))
            .raw("RSS grown by", Unit::Megabytes.of(with))
            .raw("without exchanges", Unit::Megabytes.of(without));
        Ok(vec![over_p50, exchanging])
    }

    /// A steady load, and an agent that opens a watch of its claims 10,000 times beside it.
    fn beside_agents(&self) -> anyhow::Result<Row> {
        let Scale { agents, claims, watches, .. } = *self.scale;
        say("450 ADDs per second beside an agent, with and without watches");
        let beside = agents::measure(&self.runtime, agents, claims, watches)?;
        let (p50, watched) = (beside.alone.median(), beside.watched.median());
        let (before, after) = beside.memory;
        let measure = format!(
            "ADD at a steady 450/s beside {claims} claims and {watches} watches that reconnect, p50 over p50 without watches"
        );
        Ok(Row::new(measure, Unit::Times.of(watched / p50.max(1.0)))
            .at_most(1.1)
            .raw("p50", us(watched))
            .raw("p99", us(beside.watched.percentile(99)))
            .raw("p50 without", us(p50))
            .raw("p99 without", us(beside.alone.percentile(99)))
            .raw("a watch", us(beside.watch.median()))
            .raw("RSS before", Unit::Megabytes.of(before))
            .raw("RSS after", Unit::Megabytes.of(after)))
    }

    /// A steady load, and an agent that declares its claims of the same network one time after the other beside it.
    fn beside_declarations(&self) -> anyhow::Result<Row> {
        let Scale { agents, claims, .. } = *self.scale;
        say("450 ADDs per second on a network, with and without an agent that declares its claims there");
        let beside = declared::measure(&self.runtime, agents, claims)?;
        let p99 = |times: &Times| times.percentile(99);
        let measure = format!(
            "ADD at a steady 450/s beside declarations of {claims} claims in turn on its network, p99 over p99 without"
        );
        Ok(Row::new(measure, Unit::Times.of(p99(&beside.beside) / p99(&beside.alone).max(1.0)))
            .at_most(3.0)
            .raw("p50", us(beside.beside.median()))
            .raw("p99", us(p99(&beside.beside)))
            .raw("p50 without", us(beside.alone.median()))
            .raw("p99 without", us(p99(&beside.alone)))
            .raw("declarations", Unit::Count.of(beside.declarations as f64))
            .raw("a declaration", us(beside.declaration.median())))
    }

    fn policy_calls(&self) -> anyhow::Result<Vec<Row>> {
        say("policy calls, each in a fresh instance");
        let policy::Call { p50, p99, asked, recorded, recorded_whole, on_thread, woken, ledger } =
            policy::measure(self.scale.calls)?;
        Ok(vec![
            Row::new("policy call, fresh instance, p50", us(p50)).at_most(40.0),
            Row::new("policy call, fresh instance, p99", us(p99)).at_most(100.0),
            Row::new("... made by the daemon, beyond the call itself, p50", us(asked - p50))
                .at_most(15.0)
                .raw("total", us(asked)),
            Row::new(
                "... recorded, with the network's last changes, beyond the daemon's call, p50",
                us(recorded.p50 - asked),
            )
            .raw("total", us(recorded.p50))
            .raw("bytes", Unit::Count.of(recorded.bytes)),
            Row::new(
                "... recorded, with a whole view of 60,000 addresses in use, p50",
                us(recorded_whole.p50),
            )
            .raw("bytes", Unit::Count.of(recorded_whole.bytes)),
            Row::new("... on another thread, for a policy that is not known to be quick", us(on_thread))
                .at_most(15.0)
                .raw("two wake-ups alone", us(woken)),
            Row::new(
                "the ledger's part of an ADD and its DEL, 100 pools, beyond one",
                us(ledger.pools - ledger.plain),
            )
            .at_most(5.0)
            .raw("total", us(ledger.pools)),
            Row::new("... 1000 ranges in the pool, beyond one", us(ledger.ranges - ledger.plain))
                .at_most(5.0)
                .raw("total", us(ledger.ranges)),
        ])
    }

    /// How policies that spin, and one that compiles for a minute, affect other networks.
    fn beside_stalls(&self) -> anyhow::Result<Vec<Row>> {
        say("ADDs next to policies that spin, and next to one that is being compiled");
        let beside = stalls::measure(&self.runtime, self.scale.beside)?;
        let (p99, spinning) = (beside.alone.percentile(99), beside.spinning.percentile(99));
        let rows = vec![
            Row::new(
                "gRPC ADD next to 24 callers of a spinning policy on six networks, each pausing 0.1 s after a refusal, p99 over p99 alone",
                Unit::Times.of(spinning / p99.max(1.0)),
            )
            .at_most(3.0)
            .raw("p50", us(beside.spinning.median()))
            .raw("p99", us(spinning))
            .raw("p99 alone", us(p99))
            .raw("refused meanwhile", Unit::Count.of(f64::from(beside.refused)))
            .raw("snapshots taken", Unit::Count.of(beside.snapshots as f64)),
            Row::new("... maximum", us(beside.spinning.percentile(100))).at_most(100_000.0),
            Row::new(
                "gRPC ADD next to six callers of a module that compiles for a minute, maximum",
                us(beside.compiling.percentile(100)),
            )
            .at_most(250_000.0)
            .raw("p50", us(beside.compiling.median()))
            .raw("p99", us(beside.compiling.percentile(99))),
        ];
        Ok(rows)
    }

    /// Measures the cost of a restart to the pods that come meanwhile. An ADD that fails ends the bench.
    fn restarted(&self) -> anyhow::Result<Vec<Row>> {
        say("restarts under 100 ADDs per second through the plugin");
        let count = self.scale.restarted;
        let seconds = |value: f64| Unit::Seconds.of(value);
        [("stopped and started", Ending::Stopped), ("killed and started", Ending::Killed)]
            .map(|(what, ending)| {
                let restarts::Restarted { took, absence } = restarts::measure(ending, count)?;
                let (longest, absence) = (took.percentile(100) / 1e6, absence.as_secs_f64());
                let measure = format!(
                    "plugin ADD at a steady 100/s while the daemon is {what}, none failed, longest beyond its absence"
                );
                Ok(Row::new(measure, seconds((longest - absence).max(0.0)))
                    .at_most(0.3)
                    .raw("longest", seconds(longest))
                    .raw("absence", seconds(absence))
                    .raw("p50", us(took.median()))
                    .raw("ADDs", Unit::Count.of(f64::from(count))))
            })
            .into_iter()
            .collect()
    }

    /// Counts how often a daemon that nobody calls wakes the processor.
    fn idle(&self) -> anyhow::Result<Row> {
        say("a daemon that nobody calls");
        let seconds = self.scale.idle;
        let each_second = idle::measure(&self.runtime, Duration::from_secs(seconds.into()))?;
        Ok(Row::new("wake-ups of an idle daemon in a second, all threads", Unit::Each.of(each_second))
            .at_most(1.0)
            .raw("over", Unit::Seconds.of(f64::from(seconds))))
    }

    fn in_a_cluster(&self) -> anyhow::Result<Vec<Row>> {
        let (agents, adds) = self.scale.herd;
        say(&format!("{agents} simulated agents of a cluster, and a node of it"));
        cluster::measure(agents, adds)
    }

    fn large_states(&self) -> anyhow::Result<Vec<Row>> {
        let mb = |value: f64| Unit::Megabytes.of(value);
        let small = start::memory(&self.runtime, 1_000)?;
        let mut rows = vec![Row::new("RSS, 1000 allocations", mb(small)).at_most(30.0)];
        for Large { allocations, start, memory, list } in &self.scale.large {
            say(&format!("starts with {allocations} allocations, and what they use"));
            let cost = start::measure(&self.runtime, *allocations)?;
            let of = format!("{allocations} allocations");
            let row = Row::new(format!("start to the first ADD, {of}"), Unit::Seconds.of(cost.start));
            rows.push(row.at_most(*start).because("every line of a text log is parsed, on one thread"));
            let row = Row::new(format!("RSS, {of}"), mb(cost.memory)).at_most(*memory);
            rows.push(row.because("an allocation keeps its texts and three indexes of it"));
            if let Some(disk) = cost.disk {
                let measure = format!("state directory right after a snapshot, over that snapshot, {of}");
                let row = Row::new(measure, Unit::Times.of(disk.directory / disk.snapshot)).at_most(1.2);
                let row = row
                    .because("the snapshot before and the log since are kept, in case this one is damaged");
                rows.push(row.raw("directory", mb(disk.directory)).raw("snapshot", mb(disk.snapshot)));
            }
            let row = Row::new(format!("`tenurectl allocations`, {of}"), Unit::Seconds.of(cost.list.seconds));
            let row = row.raw("its highest RSS", mb(cost.list.memory));
            rows.push(match list {
                Some(most) => row.at_most(*most),
                None => row,
            });
        }
        Ok(rows)
    }

    fn size_and_instructions(&self) -> anyhow::Result<Vec<Row>> {
        let plugin = binaries::find("tenure")?;
        let bytes = fs::metadata(&plugin).with_context(|| plugin.display().to_string())?.len();
        say("counting instructions");
        let count = |value: f64| Unit::Instructions.of(value);
        let subject = self.subject("bench-counted", "10.1.0.0/16")?;
        Ok(vec![
            Row::new("`tenure` binary", Unit::Megabytes.of(bytes as f64 / 1e6)).at_most(1.5),
            Row::new("instructions of the plugin's ADD", count(instructions::of_plugin(&subject)?)),
            Row::new("instructions of a policy call", count(instructions::of_policy_call()?)),
        ])
    }
}

/// The network of a thousand ranges; the configuration defines it, so that no call carries them.
const RANGES: &str = "bench-ranges";

/// The networks whose decisions are recorded.
const RECORDED: &str = "bench-recorded";
const RATE_RECORDED: &str = "bench-rate-recorded";

/// The networks that have another policy in their shadow.
const SHADOWED: &str = "bench-shadowed";
const RATE_SHADOWED: &str = "bench-rate-shadowed";

/// A thousand /29s in one pool.
fn many_ranges() -> String {
    let range = |number: u32| format!("{{ subnet = \"10.5.{}.{}/29\" }}", number / 32, number % 32 * 8);
    let ranges: Vec<String> = (0..1000).map(range).collect();
    format!("[networks.{RANGES}.ipam]\ntype = \"tenure\"\nranges = [[{}]]\n", ranges.join(", "))
}

fn recorded() -> String {
    [RECORDED, RATE_RECORDED].map(|name| format!("[networks.{name}]\nrecord = 1000\n")).concat()
}

fn say(what: &str) {
    eprintln!("bench: {what} ...");
}
