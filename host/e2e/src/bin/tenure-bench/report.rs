//! The table, and the same as JSON.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::exec::{Kind, Times, percentile};

/// What was measured, in order.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    /// What the latency of /bin/true and the peer are in this run, for the rows that are ratios.
    base: Vec<(String, String)>,
}

#[derive(Debug)]
struct Row {
    measure: String,
    value: String,
    must: Option<String>,
    reached: Option<bool>,
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

impl Report {
    fn row(&mut self, measure: impl Into<String>, value: impl Into<String>, must: &str, reached: bool) {
        let (measure, value, must) = (measure.into(), value.into(), Some(must.to_owned()));
        self.rows.push(Row { measure, value, must, reached: Some(reached) });
    }

    pub(crate) fn add_latency(&mut self, turns: &[(Kind, Times)]) {
        let at = |kind: Kind, share| {
            let times = turns.iter().find(|(other, _)| *other == kind);
            times.map_or(0.0, |(_, times)| microseconds(percentile(times, share)))
        };
        let (least, ours, peer) = (at(Kind::True, 50), at(Kind::Tenure, 50), at(Kind::HostLocal, 50));
        self.base.push(("exec of /bin/true, p50".into(), format!("{least:.0} us")));
        self.base.push(("host-local ADD, p50".into(), format!("{peer:.0} us")));
        self.base.push(("shim ADD, p50 / p99".into(), format!("{ours:.0} / {:.0} us", at(Kind::Tenure, 99))));
        let over = ours - least;
        self.row(
            "shim ADD p50, empty: over exec of /bin/true",
            format!("{over:.0} us"),
            "<= 600 us",
            over <= 600.0,
        );
        let ratio = ours / peer;
        self.row("shim ADD p50, empty: over host-local", format!("{ratio:.2} x"), "<= 0.45 x", ratio <= 0.45);
    }

    pub(crate) fn crowded(&mut self, many: u32, ratio: f64) {
        let measure = format!("shim ADD p50 with {many} allocated, over empty");
        self.row(measure, format!("{ratio:.2} x"), "<= 1.1 x", ratio <= 1.1);
    }

    pub(crate) fn parallel(&mut self, rates: &[(Kind, f64)]) {
        let rate = |kind| rates.iter().find(|(other, _)| *other == kind).map_or(0.0, |(_, rate)| *rate);
        let (least, ours, peer) = (rate(Kind::True), rate(Kind::Tenure), rate(Kind::HostLocal));
        self.base.push((
            "32 at once: /bin/true, shim, host-local".into(),
            format!("{least:.0}, {ours:.0}, {peer:.0} /s"),
        ));
        let ratio = ours / least;
        self.row("32 shim ADDs at once, over /bin/true", format!("{ratio:.2} x"), ">= 0.6 x", ratio >= 0.6);
    }

    pub(crate) fn throughput(&mut self, rate: f64) {
        self.row("gRPC ADD, 64 in flight, durable", format!("{rate:.0}/s"), ">= 15000/s", rate >= 15_000.0);
    }

    pub(crate) fn policy(&mut self, (p50, p99): (f64, f64)) {
        self.row("policy call, fresh instance, p50", format!("{p50:.1} us"), "<= 40 us", p50 <= 40.0);
        self.row("policy call, fresh instance, p99", format!("{p99:.1} us"), "<= 100 us", p99 <= 100.0);
    }

    pub(crate) fn memory(&mut self, most: u32, small: u64, large: u64, start: Duration) {
        let seconds = start.as_secs_f64();
        self.row(
            format!("start to serving, {most} allocations"),
            format!("{seconds:.2} s"),
            "<= 0.3 s",
            seconds <= 0.3,
        );
        let mb = |kib: u64| kib as f64 * 1024.0 / 1e6;
        self.row("RSS, 1000 allocations", format!("{:.0} MB", mb(small)), "<= 30 MB", mb(small) <= 30.0);
        self.row(
            format!("RSS, {most} allocations"),
            format!("{:.0} MB", mb(large)),
            "<= 120 MB",
            mb(large) <= 120.0,
        );
    }

    pub(crate) fn size(&mut self, bytes: u64) {
        let mb = bytes as f64 / 1e6;
        self.row("`tenure` binary", format!("{mb:.2} MB"), "<= 1.5 MB", mb <= 1.5);
    }

    pub(crate) fn grows(&mut self, measure: String, value: String) {
        self.rows.push(Row { measure, value, must: None, reached: None });
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut out = String::new();
        for (measure, value) in &self.base {
            let _ = writeln!(out, "{measure:<52} {value:>22}");
        }
        let _ = writeln!(out);
        for Row { measure, value, must, reached } in &self.rows {
            let verdict = match reached {
                Some(true) => "reached",
                Some(false) => "NOT REACHED",
                None => "",
            };
            let line =
                format!("{measure:<52} {value:>12}  {:<11} {verdict}", must.as_deref().unwrap_or_default());
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// For programs.
    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({ "measure": row.measure, "value": row.value, "must": row.must, "reached": row.reached }))
            .collect();
        let base: Vec<Value> =
            self.base.iter().map(|(measure, value)| json!({ "measure": measure, "value": value })).collect();
        format!("{:#}\n", json!({ "base": base, "rows": rows }))
    }
}
