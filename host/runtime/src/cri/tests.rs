use super::*;
use crate::fake::Fake;

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
        let serving = Fake(sandboxes).serve(&runtime.socket);
        assert_eq!(runtime.has_pods().await.unwrap(), expected, "{ids:?}");
        assert_eq!(runtime.sandboxes().await.unwrap(), ids);
        serving.abort();
    }
}

#[tokio::test]
async fn a_runtime_that_is_not_there_says_nothing() {
    let runtime = Runtime::at("/nonexistent/cri.sock".into());
    assert_eq!(runtime.sandboxes().await.unwrap_err().code, ErrorCode::Unreachable);
    assert_eq!(runtime.has_pods().await.unwrap_err().code, ErrorCode::Unreachable);
}
