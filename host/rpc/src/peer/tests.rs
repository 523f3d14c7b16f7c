use super::*;

const UID: &str = "0f3f6f1e-1111-2222-3333-444455556666";

#[test]
fn a_pod_is_found_in_the_control_groups_of_each_version_and_driver() {
    let escaped = UID.replace('-', "_");
    for cgroup in [
        format!("0::/kubepods/burstable/pod{UID}/4c01db0b339c"),
        format!("0::/kubepods/pod{UID}/4c01db0b339c"),
        // With another container in it, whose groups are below.
        format!("0::/kubepods/besteffort/pod{UID}/4c01db0b339c/init"),
        format!("0::/kubepods.slice/kubepods-pod{escaped}.slice/crio-4c01.scope/container"),
        // Of kind, in its node's cgroup namespace.
        format!("0::/kubelet/kubepods/burstable/pod{UID}/4c01"),
        // The daemon is in a cgroup namespace of its own.
        format!("0::/../../kubepods/burstable/pod{UID}/4c01"),
        // A kubelet with systemd's driver and a containerd without it.
        format!(
            "11:memory:/system.slice/containerd.service/kubepods-burstable-pod{escaped}.slice:cri-containerd:4c01"
        ),
        // Some hierarchies of version 1 are not the kubelet's.
        format!(
            "13:rdma:/\n12:pids:/kubepods/burstable/pod{UID}/4c\n9:misc:/\n1:name=systemd:/kubepods/burstable/pod{UID}/4c\n"
        ),
        format!(
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{escaped}.slice/cri-containerd-4c01.scope"
        ),
        format!(
            "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{escaped}.slice/crio-4c01.scope"
        ),
        format!(
            "12:cpuset:/kubepods/pod{UID}/4c\n11:memory:/kubepods/pod{UID}/4c\n1:name=systemd:/kubepods/pod{UID}/4c\n0::/system.slice/containerd.service"
        ),
    ] {
        assert_eq!(pod_uid(&cgroup).as_deref(), Some(UID), "{cgroup}");
    }
    let static_pod = "b".repeat(32);
    assert_eq!(pod_uid(&format!("0::/kubepods/pod{static_pod}/x")), Some(static_pod));
}

#[test]
fn what_a_container_calls_its_own_groups_makes_it_no_other_pod() {
    let other = UID.replace('0', "1");
    for cgroup in [
        format!("0::/kubepods/pod{UID}/4c01/kubepods/pod{other}"),
        format!("0::/kubepods/pod{UID}/pod{other}"),
    ] {
        assert_eq!(pod_uid(&cgroup).as_deref(), Some(UID), "{cgroup}");
    }
    for cgroup in [
        String::new(),
        "0::/".to_owned(),
        "0::/system.slice/cilium.service".to_owned(),
        format!("0::/user.slice/pod{UID}/x"),
        // Delegated to a user, a container, a virtual machine, a service: they may make groups of any name.
        format!("0::/user.slice/user-7.slice/user@7.service/kubepods/pod{UID}/x"),
        format!(
            "1:name=systemd:/user.slice/user-7.slice/user@7.service/app.slice/kubepods.slice/kubepods-pod{UID}.slice"
        ),
        format!("0::/lxc.payload.guest/kubepods/pod{UID}/x"),
        format!("0::/docker/4c01/kubepods/pod{UID}/x"),
        format!("0::/system.slice/other.service/kubepods/pod{UID}/x"),
        format!("0::/system.slice/other.service/kubepods-pod{UID}.slice:cri-containerd:4c01"),
        format!("0::/mine/kubepods/pod{UID}/x"),
        "0::/kubepods/podshop/x".to_owned(),
        format!("2:memory:/kubepods/pod{UID}/x\n1:cpu:/kubepods/pod{other}/x"),
    ] {
        assert_eq!(pod_uid(&cgroup), None, "{cgroup}");
    }
}

#[tokio::test]
async fn the_peer_of_a_connection_is_who_made_it() {
    let (one, _other) = UnixStream::pair().unwrap();
    let peer = Peer::of(&one).unwrap();
    assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
    assert_eq!(peer.gid, rustix::process::getegid().as_raw());
    let process = pidfd(&one, one.peer_cred().unwrap().pid()).unwrap();
    assert_eq!(number(&process), Some(std::process::id()));
    assert_eq!(cgroup_of(&process).unwrap(), fs::read_to_string("/proc/self/cgroup").unwrap());
}

#[test]
fn a_process_that_has_ended_has_no_number_and_no_pod() {
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    assert_eq!(number(&process), Some(child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((number(&process), cgroup_of(&process)), (None, None));
}
