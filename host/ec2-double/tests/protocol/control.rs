//! The control port, and the program.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tenure_ec2_double::Double;

use super::client::{attached, call, send};
use super::doubles::{double, node};

async fn control(double: &Double, method: &str, path: &str, body: Value) -> (u16, Value) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let reply = send(double.control(), method, path, &[], &text).await.unwrap();
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

#[tokio::test]
async fn the_state_shows_everything() {
    let double = double(&["t3.small"]).await;
    let node = node(&double);
    let (id, _) = attached(&double, &node, 1).await;
    let (_, state) = control(&double, "GET", "/state", Value::Null).await;
    let imds = double.imds()[&node].to_string();
    assert_eq!((&state["instances"][0]["id"], &state["instances"][0]["imds"]), (&json!(node), &json!(imds)));
    assert_eq!(
        (&state["instances"][0]["kind"], &state["instances"][0]["phase"]),
        (&json!("t3.small"), &json!("running"))
    );
    assert_eq!(state["subnets"][0]["free"], 249);
    let ids: Vec<&Value> = state["interfaces"].as_array().unwrap().iter().map(|known| &known["id"]).collect();
    assert!(ids.contains(&&json!(id)), "{ids:?}");
}

#[tokio::test]
async fn the_clock_goes_on_when_it_is_told_to() {
    let double = double(&["t3.small"]).await;
    let (id, _) = attached(&double, &node(&double), 1).await;
    let (_, clock) = control(&double, "GET", "/clock", Value::Null).await;
    assert_eq!(clock, json!({ "now_ms": 3_600_000, "virtual": true, "next_event_ms": 3_600_500 }));
    control(&double, "POST", "/clock", json!({ "advance_ms": 1000 })).await;
    let (status, clock) = control(&double, "POST", "/clock", json!({ "to_ms": 3_602_000 })).await;
    assert_eq!((status, clock), (200, json!({ "now_ms": 3_602_000 })));
    let found = call(&double, "DescribeNetworkInterfaces", &format!("NetworkInterfaceId.1={id}")).await;
    assert_eq!(found.all("status"), ["in-use", "attached"]);
    let (status, wrong) = control(&double, "POST", "/clock", json!({ "back_ms": 1 })).await;
    assert!(status == 400 && wrong["error"].as_str().unwrap().contains("back_ms"), "{wrong}");
}

#[tokio::test]
async fn faults_are_set_listed_and_taken_back() {
    let double = double(&[]).await;
    let fault = json!({ "call": "DescribeSubnets", "kind": "code", "code": "Unavailable", "status": 503 });
    assert_eq!(control(&double, "POST", "/faults", fault).await, (200, json!({ "id": 1 })));
    assert_eq!(call(&double, "DescribeSubnets", "").await.code(), "Unavailable");
    let (_, all) = control(&double, "GET", "/faults", Value::Null).await;
    assert_eq!((&all[0]["call"], &all[0]["id"]), (&json!("DescribeSubnets"), &json!(1)));
    assert_eq!(control(&double, "DELETE", "/faults/1", Value::Null).await.0, 200);
    assert_eq!(control(&double, "DELETE", "/faults/1", Value::Null).await.0, 404);
    assert_eq!(call(&double, "DescribeSubnets", "").await.status, 200);
    let (status, wrong) = control(&double, "POST", "/faults", json!({ "call": "*", "kind": "meteor" })).await;
    assert!(status == 400 && wrong["error"].as_str().unwrap().contains("meteor"), "{wrong}");
}

#[tokio::test]
async fn the_journal_tells_every_call_and_can_be_waited_for() {
    let double = double(&["t3.small"]).await;
    call(&double, "DeleteNetworkInterface", "NetworkInterfaceId=eni-9").await;
    let (_, journal) = control(&double, "GET", "/journal", Value::Null).await;
    assert_eq!(journal[0]["refused"], "InvalidNetworkInterfaceID.NotFound");
    assert_eq!(journal[0]["parameters"]["NetworkInterfaceId"], "eni-9");
    let later = async { call(&double, "DescribeSubnets", "").await };
    let waiting = control(&double, "GET", "/journal?after=1&wait_ms=60000", Value::Null);
    let ((_, journal), _) = tokio::join!(waiting, later);
    assert_eq!((&journal[0]["call"], &journal[0]["number"]), (&json!("DescribeSubnets"), &json!(2)));
    control(&double, "DELETE", "/journal", Value::Null).await;
    assert_eq!(control(&double, "GET", "/journal", Value::Null).await.1, json!([]));
}

#[tokio::test]
async fn held_calls_are_listed_and_let_go() {
    let double = double(&[]).await;
    let fault =
        json!({ "call": "DescribeSubnets", "times": 1, "kind": "delay_before", "delay_ms": 3_600_000 });
    control(&double, "POST", "/faults", fault).await;
    let release = async {
        let (_, held) = control(&double, "GET", "/held?wait_ms=60000", Value::Null).await;
        assert_eq!((&held[0]["call"], &held[0]["is_applied"]), (&json!("DescribeSubnets"), &json!(false)));
        control(&double, "DELETE", &format!("/held/{}", held[0]["number"]), Value::Null).await.0
    };
    let (reply, released) = tokio::join!(call(&double, "DescribeSubnets", ""), release);
    assert_eq!((reply.status, released), (200, 200));
    assert_eq!(control(&double, "DELETE", "/held/1", Value::Null).await.0, 404);
}

#[tokio::test]
async fn settings_are_replaced_and_unknown_ones_refused() {
    let double = double(&["t3.small"]).await;
    let settings = [
        ("/consistency", json!({ "describe_lag_ms": 5, "imds_shows": { "eni-1": "no_fields" } })),
        ("/timing", json!({ "attach_ms": 7 })),
        ("/rules", json!({ "exhaustion": "message", "interfaces": 9 })),
        ("/permissions", json!({ "deny": [{ "action": "CreateTags" }] })),
        ("/signature", json!({ "skew_s": 60 })),
        ("/load", json!({ "action": "CreateTags", "per_second": 3 })),
        ("/terms", json!({ "calls_per_minute": 30 })),
    ];
    for (path, body) in settings {
        assert_eq!(control(&double, "PUT", path, body).await.0, 200, "{path}");
        assert_eq!(control(&double, "PUT", path, json!({ "colour": "red" })).await.0, 400, "{path}");
    }
    let (_, state) = control(&double, "GET", "/state", Value::Null).await;
    assert_eq!((&state["timing"]["attach_ms"], &state["rules"]["interfaces"]), (&json!(7), &json!(9)));
    assert_eq!(
        (&state["load"]["CreateTags"], &state["consistency"]["describe_lag_ms"]),
        (&json!(3), &json!(5))
    );
    assert_eq!(control(&double, "PUT", "/colour", json!({})).await.0, 404);
    assert_eq!(
        send(double.control(), "GET", "/", &[], "").await.unwrap().body.trim(),
        tenure_ec2_double::HELP
    );
}

#[tokio::test]
async fn instances_are_launched_and_end() {
    let double = double(&["t3.small"]).await;
    let old = node(&double);
    let (id, _) = attached(&double, &old, 1).await;
    let (_, new) = control(&double, "POST", "/instances", json!({ "type": "m5.large" })).await;
    let address: SocketAddr = new["imds"].as_str().unwrap().parse().unwrap();
    let ttl = [("x-aws-ec2-metadata-token-ttl-seconds", "60".to_owned())];
    assert_eq!(send(address, "PUT", "/latest/api/token", &ttl, "").await.unwrap().status, 200);
    let pods = format!("/instances/{old}/pods");
    assert_eq!(control(&double, "PUT", &pods, json!(["10.0.0.9"])).await.0, 200);
    let (_, oracle) = control(&double, "GET", "/oracle", Value::Null).await;
    assert_eq!(oracle["violations"][0]["violation"], "not_on_node");
    assert_eq!(control(&double, "POST", &format!("/instances/{old}/terminate"), Value::Null).await.0, 200);
    assert_eq!(control(&double, "POST", &format!("/instances/{old}/stop"), Value::Null).await.0, 409);
    let gone = send(double.imds()[&old], "PUT", "/latest/api/token", &ttl, "").await;
    assert!(gone.is_err(), "nobody asks from an instance that has ended");
    control(&double, "POST", "/clock", json!({ "advance_ms": 60_000 })).await;
    let left =
        double.with(|world, _| world.state.interfaces().get(&id).map(|left| left.idle_since.is_some()));
    assert_eq!(left, Some(true), "it was not to end with its instance");
    assert_eq!(control(&double, "POST", "/instances", json!({ "type": "t3.huge" })).await.0, 409);
}
