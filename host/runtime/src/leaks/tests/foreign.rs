//! A container runtime that is another one than that of the pods.

use super::*;

/// The conditions that hold, each with its message.
fn wrong(leaks: &Leaks) -> Vec<(ConditionName, String)> {
    let wrong = leaks.engine.whats_wrong();
    wrong.iter().map(|condition| (condition.name, condition.message.clone())).collect()
}

#[tokio::test]
async fn a_runtime_that_lists_none_of_seven_living_pods_is_said_until_it_lists_one() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, netns) = (directory.path().join("cri.sock"), directory.path().join("netns"));
    std::fs::write(&netns, "").unwrap();
    let sandbox = || Sandbox {
        netns: netns.display().to_string().into(),
        netns_seen: seen(&netns),
        ..Sandbox::default()
    };
    let pods = (0..7).map(|pod| allocation(&format!("pod-{pod}"), sandbox(), None));
    let clock = Arc::new(ManualClock::default());
    clock.advance(GRACE);
    let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
    let mut leaks = Leaks::new(engine_holding(pods.collect()), sandboxes, clock, || GRACE);
    let foreign = FakeRuntime(vec!["other"]).serve(&socket);
    leaks.look(BEGIN).await;
    let words = "the container runtime lists none of 7 living pods of this node";
    assert_eq!(wrong(&leaks), [(ConditionName::RuntimeForeign, words.to_owned())]);
    leaks.look(BEGIN + 2 * GRACE).await;
    assert_eq!(held(&leaks).await, 7, "their namespaces exist");

    foreign.abort();
    std::fs::remove_file(&socket).unwrap();
    let _serving = FakeRuntime(vec!["other", "pod-3"]).serve(&socket);
    leaks.look(BEGIN + 2 * GRACE).await;
    assert_eq!(wrong(&leaks), []);
}

#[tokio::test]
async fn a_runtime_that_lists_none_of_the_living_pods_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let (socket, netns) = (directory.path().join("cri.sock"), directory.path().join("netns"));
    std::fs::write(&netns, "").unwrap();
    let engine = engine("lives", &netns);
    let clock = Arc::new(ManualClock::default());
    let sandboxes = Arc::new(Sandboxes::new(Some(Runtime::at(socket.clone()))));
    let mut leaks = Leaks::new(engine, sandboxes, Arc::clone(&clock) as _, || GRACE);
    let foreign = FakeRuntime(vec!["other"]).serve(&socket);
    leaks.look(BEGIN).await;
    assert_eq!(wrong(&leaks), [], "its ADD may be under way");
    clock.advance(GRACE);
    leaks.look(BEGIN).await;
    let words = "the container runtime does not list the only living pod of this node";
    assert_eq!(wrong(&leaks), [(ConditionName::RuntimeForeign, words.to_owned())]);
    assert_eq!(held(&leaks).await, 1);

    foreign.abort();
    std::fs::remove_file(&socket).unwrap();
    let _serving = FakeRuntime(vec!["lives"]).serve(&socket);
    leaks.look(BEGIN).await;
    assert_eq!(wrong(&leaks), []);
}
