//! What goes wrong on the way: whether the call was carried out is unknown, and it is sent once.

use std::time::Duration;

use tenure_aws::port::{Assign, Ec2 as _, Failure};
use tenure_aws::sdk::{Ec2Connection, SdkEc2};
use tenure_ec2_double::{Fault, Kind};

use super::node::{Node, WIDE, connection, creation, failure};

const CREATE: &str = "CreateNetworkInterface";

/// A code with a status.
fn code(code: &str, status: u16) -> Kind {
    Kind::Code { code: code.to_owned(), message: "Words.".to_owned(), status }
}

#[tokio::test]
async fn an_answer_that_does_not_arrive_says_nothing() {
    let cases = [
        (Kind::LostBefore, 0),
        (Kind::LostAfter, 1),
        (Kind::Reset, 1),
        (Kind::HalfBody, 1),
        (Kind::WrongXml, 1),
    ];
    for (kind, created) in cases {
        let node = Node::new("m5.large").await;
        node.double.fault(Fault::once(CREATE, kind.clone()));
        let wanted = creation("token", WIDE, Assign::Addresses(1));
        let error = node.ec2.create(&wanted).await.unwrap_err();
        assert_eq!(error.failure, Failure::Unknown, "{kind:?}: {error}");
        assert!(!error.code.is_empty() && !error.message.is_empty(), "{kind:?}: {error:?}");
        assert_eq!((node.calls(CREATE), node.count()), (1, 1 + created), "{kind:?}");
        // The token finds what was created.
        node.ec2.create(&wanted).await.unwrap();
        assert_eq!(node.count(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn wrong_answers_of_other_calls_say_nothing_either() {
    let node = Node::new("m5.large").await;
    let primary = node.primary().await;
    let id = primary.id.as_str();
    for kind in [Kind::WrongXml, Kind::HalfBody] {
        for action in
            ["AssignPrivateIpAddresses", "DescribeSubnets", "DescribeInstanceTypes", "AttachNetworkInterface"]
        {
            node.double.fault(Fault::once(action, kind.clone()));
        }
        assert_eq!(failure(node.ec2.assign(id, &Assign::Addresses(1)).await), Failure::Unknown, "{kind:?}");
        assert_eq!(
            failure(node.ec2.subnets("vpc-0d0b1e", "eu-central-1a").await),
            Failure::Unknown,
            "{kind:?}"
        );
        assert_eq!(failure(node.ec2.limits("m5.large").await), Failure::Unknown, "{kind:?}");
        assert_eq!(failure(node.attach("eni-1", 1).await), Failure::Unknown, "{kind:?}");
    }
}

#[tokio::test]
async fn faults_of_the_service_are_not_refusals() {
    let node = Node::new("m5.large").await;
    let cases = [
        (code("InternalError", 500), Failure::Unknown),
        (code("Unavailable", 503), Failure::Unknown),
        (code("RequestLimitExceeded", 503), Failure::Throttled),
        (code("Throttling", 400), Failure::Throttled),
        (code("ExpiredToken", 400), Failure::Denied),
        (code("Other", 400), Failure::Refused),
    ];
    for (number, (kind, expected)) in cases.into_iter().enumerate() {
        node.double.fault(Fault::once(CREATE, kind.clone()));
        let error = node.ec2.create(&creation("token", WIDE, Assign::Nothing)).await.unwrap_err();
        assert_eq!((error.failure, error.message.as_str()), (expected, "Words."), "{kind:?}");
        assert_eq!(node.calls(CREATE), number + 1, "{kind:?}: one attempt");
    }
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_denied() {
    let node = Node::new("m5.large").await;
    node.double.with(|world, _| world.signature.skew_s = 3600);
    let error = node.ec2.create(&creation("token", WIDE, Assign::Nothing)).await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Denied, "RequestExpired"));
}

#[tokio::test]
async fn a_late_answer_is_not_waited_for() {
    let node = Node::new("m5.large").await;
    let impatient = Ec2Connection { attempt: Duration::from_millis(500), ..connection(&node.double) };
    let ec2 = SdkEc2::new(&impatient).unwrap();
    // Credentials first: they count as part of an attempt.
    ec2.limits("m5.large").await.unwrap();
    node.double.fault(Fault::once(CREATE, Kind::DelayAfter { delay_ms: 60_000 }));
    let error = ec2.create(&creation("token", WIDE, Assign::Nothing)).await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Unknown, "time-out"));
    assert_eq!(node.count(), 2, "it was carried out");
}

#[tokio::test]
async fn nobody_at_the_endpoint_is_unknown() {
    let node = Node::new("m5.large").await;
    let nobody = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let ec2 = SdkEc2::new(&Ec2Connection { endpoint: Some(endpoint), ..connection(&node.double) }).unwrap();
    let error = ec2.limits("m5.large").await.unwrap_err();
    assert_eq!((error.failure, error.code.as_str()), (Failure::Unknown, "connection"));
    assert!(error.message.contains("refused"), "{error}");
}
