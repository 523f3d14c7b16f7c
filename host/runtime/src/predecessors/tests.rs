use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tenure_types::{
    AssignedAddress, Attributes, ContainerId, Generation, InterfaceName, NetworkName, Owner, Place,
    PodIdentity, PolicyName, PolicyStamp, Sandbox,
};

use super::*;
use crate::fake::FakeRuntime;
use crate::{Runtime, netns};

/// The address of a pod that another one of its name has replaced, asked for a second after the boot.
fn held(netns: Option<&Path>) -> Arc<Allocation> {
    let seen = netns.and_then(|path| {
        let metadata = std::fs::metadata(path).ok()?;
        netns::see(path.to_str()?, Place::new(metadata.dev(), metadata.ino()))
    });
    let pod = PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: "1-2".into() };
    let path = netns.map(|path| path.display().to_string()).unwrap_or_default();
    Arc::new(Allocation {
        network: NetworkName::new("net").unwrap(),
        generation: Generation(1),
        owner: Owner::Attachment {
            container: ContainerId::new("c").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        },
        addresses: [AssignedAddress::plain("10.0.0.2/24".parse().unwrap(), None)].into(),
        sandbox: Sandbox { pod: Some(pod), netns: path.into(), netns_seen: seen, ..Sandbox::default() },
        tags: Attributes::default(),
        policy: Arc::new(PolicyStamp { name: PolicyName::new("any").unwrap(), digest: "".into() }),
        origin: None,
        requested_at: after(1),
        allocated_at: after(1),
    })
}

fn after(seconds: u64) -> Moment {
    Moment { boot_ns: seconds * 1_000_000_000, wall_ms: 0 }
}

/// Whether it is gone, with a runtime that lists these sandboxes, or that does not answer.
async fn is_gone(held: &Arc<Allocation>, listed: Option<Vec<&'static str>>, now: Moment) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("cri.sock");
    let serving = listed.map(|listed| FakeRuntime(listed).serve(&socket));
    let sandboxes = Sandboxes::new(Some(Runtime::at(socket)));
    let gone = sandboxes.gone(&[Arc::clone(held)], now).await.unwrap();
    if let Some(serving) = serving {
        serving.abort();
    }
    !gone.is_empty()
}

#[tokio::test]
async fn a_complete_list_without_the_old_sandbox_is_the_other_half_of_the_proof() {
    let unseen = held(None);
    assert!(is_gone(&unseen, Some(vec!["other"]), after(61)).await);
    assert!(!is_gone(&unseen, Some(vec!["c"]), after(61)).await, "it is listed");
    assert!(!is_gone(&unseen, Some(vec!["c@1-2"]), after(61)).await);
    assert!(!is_gone(&unseen, None, after(61)).await, "the runtime does not answer");
    assert!(!is_gone(&unseen, Some(vec![]), after(60)).await, "its own ADD may be under way");
    let sandboxes = Sandboxes::new(None);
    assert!(sandboxes.gone(&[unseen], after(61)).await.unwrap().is_empty(), "no runtime is configured");
}

#[tokio::test]
async fn a_namespace_that_this_daemon_has_seen_needs_no_age() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cni-1");
    std::fs::write(&path, "").unwrap();
    let seen = held(Some(&path));
    assert!(!is_gone(&seen, Some(vec![]), after(61)).await, "its namespace exists");
    std::fs::remove_file(&path).unwrap();
    assert!(is_gone(&seen, Some(vec![]), after(2)).await);
    assert!(!is_gone(&seen, Some(vec!["c"]), after(61)).await && !is_gone(&seen, None, after(61)).await);
}
