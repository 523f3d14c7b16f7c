//! Whose credentials a call is signed with.

use std::env;
use std::process::{Command, Output};

use tenure_aws::port::{Ec2 as _, Failure};
use tenure_aws::sdk::{Ec2Connection, SdkEc2};
use tenure_ec2_double::{Fault, Kind};

use super::node::{Node, connection};

/// Who called EC2 last.
fn caller(node: &Node) -> String {
    let is_it = |entry: &&tenure_ec2_double::Entry| entry.call == "DescribeInstanceTypes";
    node.double.with(|world, _| world.journal.after(0).iter().rfind(is_it).unwrap().caller.clone())
}

#[tokio::test]
async fn the_instances_role_is_used() {
    let node = Node::new("m5.large").await;
    node.ec2.limits("m5.large").await.unwrap();
    node.ec2.limits("m5.large").await.unwrap();
    assert_eq!(caller(&node), node.instance);
    let role = "/latest/meta-data/iam/security-credentials/tenure-node";
    assert_eq!(node.calls(role), 1, "they are cached");
}

#[tokio::test]
async fn without_credentials_nothing_is_sent() {
    let node = Node::new("m5.large").await;
    let forbidden = Kind::Code { code: String::new(), message: String::new(), status: 403 };
    node.double.fault(Fault::always("/latest/api/token", forbidden));
    let error = node.ec2.limits("m5.large").await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Unknown, "credentials"), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
    assert_eq!(node.calls("DescribeInstanceTypes"), 0);
}

#[tokio::test]
async fn an_address_that_is_no_url_is_refused() {
    let wrong =
        Ec2Connection { metadata: Some("not a url".to_owned()), ..Ec2Connection::new("eu-central-1") };
    let error = SdkEc2::new(&wrong).unwrap_err();
    assert_eq!(error.to_string(), r#"address "not a url" is not a URL"#);
}

/// The environment belongs to the process, so a process of its own asks.
#[tokio::test(flavor = "multi_thread")]
async fn the_environment_comes_before_the_role() {
    let node = Node::new("m5.large").await;
    let child =
        child(&node, &[("AWS_ACCESS_KEY_ID", "AKIAENVIRONMENT"), ("AWS_SECRET_ACCESS_KEY", "secret")]);
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(caller(&node), "AKIAENVIRONMENT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pods_identity_comes_before_the_role() {
    let node = Node::new("m5.large").await;
    let document =
        r#"{"AccessKeyId":"AKIAPOD","SecretAccessKey":"s","Token":"t","Expiration":"2126-01-01T00:00:00Z"}"#;
    let agent = agent(document).await;
    let child = child(
        &node,
        &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &agent), ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "jwt")],
    );
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(caller(&node), "AKIAPOD");
}

/// One call, as the environment says. The tests here start it as a process of its own, which calls their double; by itself, it has
/// one of its own.
#[tokio::test]
async fn a_process_calls_as_its_environment_says() {
    let own;
    let connection = match env::var("TENURE_TEST_EC2") {
        Ok(endpoint) => Ec2Connection {
            endpoint: Some(endpoint),
            metadata: env::var("TENURE_TEST_METADATA").ok(),
            ..Ec2Connection::new("eu-central-1")
        },
        Err(_) => {
            own = Node::new("m5.large").await;
            connection(&own.double)
        }
    };
    SdkEc2::new(&connection).unwrap().limits("m5.large").await.unwrap();
}

/// Runs [`a_process_calls_as_its_environment_says`] with only these variables for AWS.
fn child(node: &Node, variables: &[(&str, &str)]) -> Output {
    let connection = connection(&node.double);
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "credentials::a_process_calls_as_its_environment_says"]);
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command.envs([
        ("TENURE_TEST_EC2", connection.endpoint.unwrap()),
        ("TENURE_TEST_METADATA", connection.metadata.unwrap()),
    ]);
    tokio::task::block_in_place(|| command.output()).unwrap()
}

/// An agent that gives out a pod's credentials on loopback, to whoever has the token.
async fn agent(document: &'static str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.unwrap();
        }
        let request = String::from_utf8_lossy(&request).to_ascii_lowercase();
        let status = if request.contains("authorization: jwt") { "200 OK" } else { "401 Unauthorized" };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            document.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(document.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    });
    format!("http://{address}/v1/credentials")
}
