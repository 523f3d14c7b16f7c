//! moto as EC2 and STS: a node that serves pods from it, and answers of the shape that the double's have.
//!
//! moto does not know what EC2 refuses, so nothing here asks for a refusal but those of what does not exist. It has no links and
//! no metadata service: the suite has some.

#[path = "moto/account.rs"]
mod account;
#[path = "moto/ec2.rs"]
mod ec2;
#[path = "moto/element.rs"]
mod element;
#[path = "eni/node.rs"]
#[expect(dead_code, reason = "the suite of the main plugin uses more of it")]
mod eni;
#[path = "moto/metadata.rs"]
mod metadata;
#[path = "moto/node.rs"]
mod node;
#[path = "aws/pod.rs"]
mod pod;
#[path = "moto/server.rs"]
mod server;
#[path = "moto/shape.rs"]
mod shape;
#[path = "moto/wire.rs"]
mod wire;

use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Need, Suite, wait};

use self::eni::LIMIT;
use self::node::MotoNode;

/// The needs of every test.
const NEEDS: &[Need] = &[Need::Root, Need::IPROUTE, Need::UTIL_LINUX, Need::Moto];

/// The endpoints, as the configuration names them.
const KEYS: &str = "ec2_endpoint = \"http://127.0.0.1:8101\"\nimds_endpoint = \"http://127.0.0.1:8102\"";

/// The credentials of the environment, which moto takes as they are.
const CREDENTIALS: [&str; 2] = ["AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"];

/// The environment of a pod with a role of its own, and the SDK's names of services that are elsewhere.
const WEB_IDENTITY: [&str; 7] = [
    "--unset=AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE=/run/web-identity",
    "AWS_ROLE_ARN=arn:aws:iam::123456789012:role/tenure",
    "AWS_ROLE_SESSION_NAME=node-1",
    "AWS_ENDPOINT_URL_STS=http://127.0.0.1:8101",
    "AWS_ENDPOINT_URL_EC2=http://127.0.0.1:8101",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:8102",
];

fn main() -> ExitCode {
    Suite::new()
        .test("pods_come_and_go_with_moto_as_ec2", NEEDS, pods)
        .test("the_environment_and_a_web_identity_lead_to_moto", NEEDS, web_identity)
        .test("the_double_answers_in_motos_shape", NEEDS, shape::alike)
        .run()
}

/// A t3.small has three interfaces with three pods each.
fn pods() -> anyhow::Result<()> {
    let mut node = MotoNode::prepare("t3.small", KEYS, CREDENTIALS.to_vec())?;
    node.node.start_daemon()?;
    // moto answers an assignment with the interface's own address, too.
    let primary = node.interfaces()?.into_iter().next().context("the primary interface")?;
    let cloud = node.node.daemon.ctl(&["cloud"])?;
    ensure!(!cloud.to_string().contains(&format!("\"net\":\"{}/32\"", primary.own)), "{cloud:#}");
    for number in 0..5 {
        node.add(&format!("pod-{number}"))?;
    }
    node.all_is_well()?;
    let shape = |node: &MotoNode| -> anyhow::Result<Vec<usize>> {
        Ok(node.interfaces()?.iter().map(|interface| interface.others.len()).collect())
    };
    wait::holds("five pods' addresses and one more", LIMIT, || Ok(shape(&node)? == [3, 3]))?;
    for number in 1..5 {
        node.del(&format!("pod-{number}"))?;
    }
    // No interface goes within its first minute.
    wait::holds("the end of what is not used", LIMIT * 3, || Ok(shape(&node)? == [2]))?;
    node.all_is_well()
}

/// Nothing but the environment says where EC2 is, and who the node is to it.
fn web_identity() -> anyhow::Result<()> {
    // The daemon has no table of this type's limits.
    let mut node = MotoNode::prepare("a1.large", "", WEB_IDENTITY.to_vec())?;
    node.node.sh("echo token >/run/web-identity")?;
    node.node.start_daemon()?;
    node.add("pod-0")?;
    node.all_is_well()?;
    let limits = json!({ "interfaces": 3, "addresses": 10, "ipv6_addresses": 10, "prefixes": true });
    wait::holds("the limits as moto says them", LIMIT, || {
        let cloud = node.node.daemon.ctl(&["cloud"])?;
        Ok(cloud.get("limits") == Some(&limits))
    })?;
    let data: Value = serde_json::from_str(&node.server.ec2.page("/moto-api/data.json")?)?;
    let roles = data.pointer("/sts/AssumedRole").and_then(Value::as_array).context("a list of roles")?;
    let is_it = |role: &Value| role.get("session_name").and_then(Value::as_str) == Some("node-1");
    ensure!(roles.len() == 1 && roles.iter().all(is_it), "{roles:#?}");
    Ok(())
}
