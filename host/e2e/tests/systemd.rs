//! The systemd unit and its drop-ins, run by a real systemd.

#![expect(
    clippy::indexing_slicing,
    reason = "clippy does not recognise a suite without a harness as test code"
)]

#[path = "systemd/alone.rs"]
mod alone;
#[path = "systemd/book.rs"]
mod book;
#[path = "systemd/cloud.rs"]
mod cloud;
#[path = "systemd/cluster.rs"]
mod cluster;
#[path = "systemd/door.rs"]
mod door;
#[path = "aws/double.rs"]
#[expect(dead_code, reason = "the suite of nodes on AWS uses more of it")]
mod double;
#[path = "eni/node.rs"]
#[expect(dead_code, reason = "the suite of the main plugin uses more of it")]
mod eni;
#[path = "systemd/links.rs"]
mod links;
#[path = "systemd/machine.rs"]
mod machine;
#[path = "aws/node.rs"]
#[expect(dead_code, reason = "the suite of nodes on AWS uses more of it")]
mod node;
#[path = "aws/pod.rs"]
mod pod;

use std::process::ExitCode;

use tenure_e2e::{Need, Suite};

/// The needs of every test.
const NEEDS: &[Need] = &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX, Need::SYSTEMD, Need::ControlGroups];

/// The needs of a node on AWS, whose packets are translated.
const CLOUD: &[Need] = &[
    Need::Root,
    Need::IPROUTE,
    Need::UTIL_LINUX,
    Need::SYSTEMD,
    Need::ControlGroups,
    Need::File("/usr/sbin/nft", "nftables"),
];

/// The needs of a delegate.
const DELEGATE: &[Need] =
    &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX, Need::SYSTEMD, Need::ControlGroups, Need::PLUGINS];

fn main() -> ExitCode {
    Suite::new()
        .test("the_unit_serves_pods_and_stops_cleanly", NEEDS, alone::serves)
        .test("a_reload_applies_what_changed_and_refuses_a_broken_file", NEEDS, alone::reloads)
        .test("a_killed_daemon_is_started_again_with_its_allocations", NEEDS, alone::restarts)
        .test("a_daemon_with_a_broken_file_is_not_started_again", NEEDS, alone::gives_up)
        .test("pods_get_their_links_with_the_drop_in_of_links", NEEDS, links::made)
        .test("the_unit_alone_grants_no_link_and_names_the_drop_in", NEEDS, links::forbidden)
        .test("a_node_on_aws_grows_with_both_drop_ins", CLOUD, cloud::grows)
        .test("metadata_is_out_of_reach_without_the_drop_in_of_aws", CLOUD, cloud::opened)
        .test("the_api_server_is_out_of_reach_without_the_drop_in_of_clusters", NEEDS, cluster::opened)
        .test("a_sandbox_named_by_its_process_needs_one_line_more", NEEDS, links::by_process)
        .test("a_delegate_writes_where_the_books_drop_in_lets_it", DELEGATE, book::delegates)
        .test("agents_have_a_group_with_the_books_drop_in", NEEDS, book::agents)
        .run()
}
