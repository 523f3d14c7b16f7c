use tenure_types::{Moment, NetworkName};

use super::*;

/// The exposition's lines for one metric, sorted, since hashing makes their order random.
fn lines(metrics: &Metrics, name: &str) -> String {
    let text = metrics.exposition();
    let mut lines: Vec<&str> = text.lines().filter(|line| line.contains(name)).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn requests_are_counted_by_verb_and_outcome() {
    let metrics = Metrics::new("0.1.0");
    metrics.request("add", Ok(()), Duration::from_millis(1));
    metrics.request("add", Ok(()), Duration::from_millis(1));
    metrics.request("add", Err(ErrorCode::PoolExhausted), Duration::from_millis(1));
    insta::assert_snapshot!(lines(&metrics, "tenure_requests_total"), @r#"
    tenure_requests_total{verb="add",outcome="ok"} 2
    tenure_requests_total{verb="add",outcome="pool-exhausted"} 1
    "#);
}

#[test]
fn durations_are_seconds() {
    let metrics = Metrics::new("0.1.0");
    metrics.checkpoint_synced(Duration::from_millis(500), 3, 4096);
    insta::assert_snapshot!(lines(&metrics, "sync_duration_seconds_sum"), @"tenure_checkpoint_sync_duration_seconds_sum 0.5");
    insta::assert_snapshot!(lines(&metrics, "tenure_checkpoint_log_bytes 4096"), @"tenure_checkpoint_log_bytes 4096");
    insta::assert_snapshot!(lines(&metrics, "group_size_bucket{le=\"4.0\"}"), @r#"tenure_checkpoint_group_size_bucket{le="4.0"} 1"#);
}

fn network(name: &str, allocations: usize, cooling: usize, quarantined: usize) -> NetworkFigures {
    NetworkFigures { network: NetworkName::new(name).unwrap(), allocations, cooling, quarantined }
}

#[test]
fn a_network_is_a_label_as_long_as_it_is_there() {
    let metrics = Metrics::new("0.1.0");
    metrics.networks([network("pods", 7, 2, 0), network("gone", 0, 3, 3)]);
    metrics.networks([network("pods", 6, 3, 1)]);
    insta::assert_snapshot!(lines(&metrics, "{network="), @r#"
    tenure_addresses_cooling{network="pods"} 3
    tenure_addresses_quarantined{network="pods"} 1
    tenure_allocations{network="pods"} 6
    "#);
}

fn pool(network: &str, pool: &str, size: u128, held: u32) -> PoolFigures {
    let (network, pool) = (NetworkName::new(network).unwrap(), tenure_types::PoolName::new(pool).unwrap());
    PoolFigures { network, pool, size, held, cooling: 2 }
}

#[test]
fn a_pool_s_size_and_use_are_told_as_long_as_it_is_there() {
    let metrics = Metrics::new("0.1.0");
    metrics.pools([pool("pods", "0", 254, 7), pool("pods", "1", u128::MAX, 7), pool("gone", "0", 6, 0)]);
    metrics.pools([pool("pods", "0", 254, 8), pool("pods", "1", u128::MAX, 8)]);
    insta::assert_snapshot!(lines(&metrics, "{network="), @r#"
    tenure_pool_addresses{network="pods",pool="0"} 254
    tenure_pool_addresses{network="pods",pool="1"} 9223372036854775807
    tenure_pool_cooling{network="pods",pool="0"} 2
    tenure_pool_cooling{network="pods",pool="1"} 2
    tenure_pool_held{network="pods",pool="0"} 8
    tenure_pool_held{network="pods",pool="1"} 8
    "#);
}

#[test]
fn a_condition_that_is_over_reads_zero() {
    let metrics = Metrics::new("0.1.0");
    let name = ConditionName::PoolExhausted;
    let there =
        Condition { name, subject: "pods/0".into(), message: String::new(), since: Moment::default() };
    metrics.conditions(&[there]);
    insta::assert_snapshot!(lines(&metrics, r#"name="pool-exhausted"#), @r#"tenure_condition{name="pool-exhausted"} 1"#);
    metrics.conditions(&[]);
    insta::assert_snapshot!(lines(&metrics, r#"name="pool-exhausted"#), @r#"tenure_condition{name="pool-exhausted"} 0"#);
    assert_eq!(lines(&metrics, "tenure_condition{").lines().count(), ConditionName::ALL.len());
}

fn metered(digest: &str, calls: u64) -> (PolicyStamp, Meter) {
    let meter = Meter {
        calls,
        processor: Duration::from_micros(1500),
        memory_peak: 1 << 20,
        host_calls: 7,
        failures: vec![("trap", 1), ("memory", 2)],
        refusals: vec![("exhausted", 3)],
        rejections: vec![("held", 4)],
        ..Meter::default()
    };
    (PolicyStamp { name: PolicyName::new("mine").unwrap(), digest: digest.into() }, meter)
}

#[test]
fn a_policy_is_metered_by_its_digest_for_as_long_as_it_serves() {
    let metrics = Metrics::new("0.1.0");
    metrics.policy_meters(vec![metered("fedcba9876543210", 9), metered("0123456789abcdef", 1)]);
    assert_eq!(lines(&metrics, "digest=\"fedcba987654\"").lines().count(), 8);
    metrics.policy_meters(vec![metered("0123456789abcdef", 2)]);
    insta::assert_snapshot!(lines(&metrics, "digest="), @r#"
    tenure_policy_call_failures_total{policy="mine",digest="0123456789ab",kind="memory"} 2
    tenure_policy_call_failures_total{policy="mine",digest="0123456789ab",kind="trap"} 1
    tenure_policy_calls_total{policy="mine",digest="0123456789ab"} 2
    tenure_policy_host_calls_total{policy="mine",digest="0123456789ab"} 7
    tenure_policy_memory_peak_bytes{policy="mine",digest="0123456789ab"} 1048576
    tenure_policy_processor_seconds_total{policy="mine",digest="0123456789ab"} 0.0015
    tenure_policy_refusals_total{policy="mine",digest="0123456789ab",kind="exhausted"} 3
    tenure_policy_rejections_total{policy="mine",digest="0123456789ab",rule="held"} 4
    "#);
}

fn figures() -> CloudFigures {
    CloudFigures {
        calls: vec![("AttachNetworkInterface", "throttled", 2), ("DescribeSubnets", "ok", 1)],
        intents: vec![("attach-interface", "done", 3)],
        interfaces: vec![("confirmed", 2), ("doubtful", 0)],
        addresses: vec![("held", 4), ("free", 1)],
        open: 5,
        quarantined: 6,
        refused: 7,
        confirmed_age: Some(Duration::from_millis(1500)),
    }
}

#[test]
fn a_node_with_cloud_interfaces_has_their_figures() {
    let metrics = Metrics::new("0.1.0");
    assert_eq!(lines(&metrics, "tenure_cloud"), "", "a node without them has no such series");
    metrics.cloud(CloudFigures { quarantined: 9, confirmed_age: None, ..figures() });
    assert!(!lines(&metrics, "tenure_cloud_confirmed").contains("age"), "nothing was ever confirmed");
    metrics.cloud(figures());
    let series = lines(&metrics, "tenure_cloud")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(series, @r#"
    tenure_cloud_addresses{state="free"} 1
    tenure_cloud_addresses{state="held"} 4
    tenure_cloud_calls_total{call="AttachNetworkInterface",outcome="throttled"} 2
    tenure_cloud_calls_total{call="DescribeSubnets",outcome="ok"} 1
    tenure_cloud_confirmed_age_seconds 1.5
    tenure_cloud_effects_refused 7
    tenure_cloud_intents_open 5
    tenure_cloud_intents_total{kind="attach-interface",outcome="done"} 3
    tenure_cloud_interfaces{standing="confirmed"} 2
    tenure_cloud_interfaces{standing="doubtful"} 0
    tenure_cloud_quarantined 6
    "#);
}

/// Metrics with every series used once: a family appears only with its first series.
fn used() -> Metrics {
    let metrics = Metrics::new("0.1.0");
    let policy = PolicyName::new("host-local").unwrap();
    metrics.request("add", Ok(()), Duration::from_millis(1));
    metrics.networks([network("pods", 1, 1, 1)]);
    metrics.pools([pool("pods", "0", 254, 1)]);
    metrics.policy_call(&policy, Duration::from_micros(40));
    metrics.policy_failed(&policy, "trap");
    metrics.policy_silenced(&policy, 3);
    metrics.policy_step("chosen");
    metrics.policy_shadowed("same");
    metrics.policy_meters(vec![metered("0123456789abcdef", 1)]);
    metrics.recovered("clean");
    metrics.cloud(figures());
    metrics.conditions(&[]);
    metrics
}

/// The book's table of metrics is written by hand, so that it can explain each one; this test keeps it complete.
#[test]
fn the_book_names_every_metric() {
    let book = include_str!("../../../../deploy/book/src/conditions.md");
    let text = used().exposition();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let name = if kind == "counter" { format!("{name}_total") } else { name.to_owned() };
        let name = if kind == "info" { format!("{name}_info") } else { name };
        assert!(book.contains(&format!("| `{name}`")), "{name} is not in the book");
    }
}

#[test]
fn every_metric_says_what_it_is() {
    insta::assert_snapshot!(lines(&used(), "# HELP"), @"
    # HELP tenure_addresses_cooling Freed addresses that are cooling down.
    # HELP tenure_addresses_quarantined Addresses in quarantine: given to nobody, or of an owner that may be gone.
    # HELP tenure_allocations Live allocations.
    # HELP tenure_build The daemon's version.
    # HELP tenure_checkpoint_group_size Records that one sync made durable.
    # HELP tenure_checkpoint_log_bytes Size of the checkpoint's log.
    # HELP tenure_checkpoint_sync_duration_seconds Time of one sync of the checkpoint's log.
    # HELP tenure_checkpoint_sync_failures Syncs that failed.
    # HELP tenure_cloud_addresses Addresses on interfaces, by state.
    # HELP tenure_cloud_calls Calls of the cloud; outcome is ok or the kind of the failure.
    # HELP tenure_cloud_confirmed_age_seconds Age of the cloud's last answer that counts.
    # HELP tenure_cloud_effects_refused Effects of the last plan that were refused.
    # HELP tenure_cloud_intents Intents that have ended; outcome is done or undone.
    # HELP tenure_cloud_intents_open Intents that have not ended.
    # HELP tenure_cloud_interfaces Interfaces, by how sure it is that they are there.
    # HELP tenure_cloud_quarantined Addresses and prefixes that the cloud does not show, and that may be in use.
    # HELP tenure_condition 1 while the node is in a condition, else 0.
    # HELP tenure_policy_call_duration_seconds Time of one call of a policy, its instance included.
    # HELP tenure_policy_call_failures Calls in which a policy failed, by kind.
    # HELP tenure_policy_calls Calls of a policy.
    # HELP tenure_policy_decisions_dropped Decisions of policies that should have been recorded and were not.
    # HELP tenure_policy_decisions_recorded Decisions of policies that were recorded.
    # HELP tenure_policy_failures Calls in which a policy trapped, exceeded a limit or returned an invalid answer, by kind.
    # HELP tenure_policy_host_calls Host functions that a policy has called.
    # HELP tenure_policy_lines_dropped Log lines of a policy that were dropped because there were too many.
    # HELP tenure_policy_memory_peak_bytes The most memory that one call of a policy has used.
    # HELP tenure_policy_processor_seconds Processor time of a policy's calls.
    # HELP tenure_policy_refusals Calls in which a policy refused to answer, by kind.
    # HELP tenure_policy_rejections Answers of a policy that the ledger rejected, by rule.
    # HELP tenure_policy_shadowed Decisions that were compared with a shadow's, by verdict.
    # HELP tenure_policy_steps Steps of policies on networks: chosen, rolled-back, undone, refused, shadow-begun, shadow-ended, kept or state-replaced.
    # HELP tenure_pool_addresses Addresses of a pool that can be assigned; 2^63-1 means that many or more.
    # HELP tenure_pool_cooling Addresses of a pool that are cooling down.
    # HELP tenure_pool_held Addresses of a pool that are held.
    # HELP tenure_recovery_findings Findings when the checkpoint was opened.
    # HELP tenure_request_duration_seconds Time from a request's arrival to its reply.
    # HELP tenure_requests Requests by verb; outcome is ok or the error's name.
    # HELP tenure_requests_in_flight Requests being served.
    # HELP tenure_requests_queued Requests waiting to be served.
    # HELP tenure_spool_replayed DELs that the plugin spooled while the daemon was away, and that were replayed.
    # HELP tenure_spool_set_aside Spooled DELs that could not be read.
    ");
    assert!(used().exposition().ends_with("# EOF\n"));
}

#[test]
fn claims_are_told_by_agent_and_state_as_long_as_there_are_any() {
    let metrics = Metrics::new("0.1.0");
    let [cilium, gone] = ["cilium", "gone"].map(|name| AgentName::new(name).unwrap());
    metrics.claims([((cilium.clone(), "held"), 3), ((gone, "orphaned"), 2)], [(cilium.clone(), 1)]);
    insta::assert_snapshot!(lines(&metrics, "{agent="), @r#"
    tenure_claim_watches{agent="cilium"} 1
    tenure_claims{agent="cilium",state="held"} 3
    tenure_claims{agent="gone",state="orphaned"} 2
    "#);
    metrics.claims([((cilium, "held"), 2)], []);
    insta::assert_snapshot!(lines(&metrics, "{agent="), @r#"tenure_claims{agent="cilium",state="held"} 2"#);
}
