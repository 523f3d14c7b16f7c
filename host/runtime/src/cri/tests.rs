use std::collections::HashSet;

use super::*;
use crate::addresses::Addresses;
use crate::fake::{FakeRuntime, SLOW};

#[tokio::test]
async fn a_pod_counts_that_runs_in_a_network_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    for (index, (sandboxes, expected)) in
        [(vec![], false), (vec!["host-1", "old-1"], false), (vec!["host-1", "pod-1"], true)]
            .into_iter()
            .enumerate()
    {
        let runtime = Runtime::at(directory.path().join(format!("cri-{index}.sock")));
        let ids: HashSet<String> = sandboxes.iter().map(ToString::to_string).collect();
        let serving = FakeRuntime(sandboxes).serve(&runtime.socket);
        assert_eq!(runtime.has_pods().await.unwrap(), expected, "{ids:?}");
        let listed = runtime.list().await.unwrap();
        assert_eq!(listed.into_iter().map(|sandbox| sandbox.id).collect::<HashSet<_>>(), ids);
        serving.abort();
    }
}

#[tokio::test]
async fn a_runtime_that_is_not_there_says_nothing() {
    let runtime = Runtime::at("/nonexistent/cri.sock".into());
    assert_eq!(runtime.list().await.unwrap_err().code, ErrorCode::Unreachable);
    assert_eq!(runtime.has_pods().await.unwrap_err().code, ErrorCode::Unreachable);
}

#[tokio::test]
async fn the_addresses_of_running_pods_are_known_and_not_asked_for_twice() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::at(directory.path().join("cri.sock"));
    let serving = FakeRuntime(vec!["host-1", "old-1", "pod-1"]).serve(&runtime.socket);
    let of_pod: Vec<IpAddr> = vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
    let addresses = Addresses::of(runtime.clone());
    for _ in 0..2 {
        let seen = addresses.look().await.unwrap();
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), of_pod);
        assert!(seen.values().all(|sandbox| sandbox == "pod-1"), "{seen:?}");
    }
    let before: Vec<IpAddr> = vec!["10.0.0.9".parse().unwrap()];
    let ended = ("pod-0".to_owned(), before.clone());
    let known = Mutex::new(HashMap::from([("pod-1".to_owned(), before.clone()), ended]));
    runtime.addresses(&known).await.unwrap();
    let seen = known.into_inner().unwrap();
    assert_eq!(seen.get("pod-1"), Some(&before), "it was asked again");
    assert_eq!(seen.len(), 2, "{seen:?}");
    serving.abort();
    assert_eq!(addresses.look().await.unwrap_err().code, ErrorCode::Unreachable);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_too_slow_for_one_look_is_known_after_several() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::at(directory.path().join("cri.sock"));
    let sandboxes = vec!["slow-1", "slow-2", "slow-3", "slow-4", "slow-5"];
    assert!(SLOW * 5 > DEADLINE, "one look is not enough");
    let serving = FakeRuntime(sandboxes).serve(&runtime.socket);
    let addresses = Addresses::of(runtime);
    assert_eq!(addresses.look().await.unwrap_err().code, ErrorCode::Unreachable);
    assert_eq!(addresses.look().await.unwrap().len(), 2);
    serving.abort();
}
