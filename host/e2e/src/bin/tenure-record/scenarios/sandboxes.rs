//! `tenurectl check` and `repair` of a sandbox that is gone.

use tenure_e2e::recording::Step;

use super::{Scenario, ctl, ctl_into, plugin, remove, subnet, with, write};

pub(super) fn scenario() -> Scenario {
    let pod = plugin(
        "a pod whose network namespace the daemon sees",
        "ADD",
        "leaks",
        subnet("1.0.0", "pods", "10.88.0.0/24"),
    );
    let steps = vec![
        write("netns/leaks", ""),
        Step::Plugin(with(pod, "CNI_NETNS", "$DIR/netns/leaks")),
        ctl(&["release", "10.88.0.2"]),
        ctl(&["release", "10.88.0.2", "--force"]),
        ctl(&["check"]),
        remove("netns/leaks"),
        ctl_into("report.json", &["check"]),
        ctl(&["repair", "--from", "$DIR/report.json"]),
        ctl(&["repair", "--from", "$DIR/report.json", "--apply"]),
        ctl(&["repair", "--from", "$DIR/report.json", "--apply"]),
        ctl(&["check"]),
        ctl(&["allocation", "10.88.0.2"]),
    ];
    Scenario {
        name: "sandboxes",
        about: "a release that is refused while the sandbox exists, and a repair once it is gone",
        configuration: "[runtime]\nsocket = \"unix://$DIR/cri.sock\"\n",
        answers_only: Some(
            "the ADD names a network namespace by its inode number, which differs on every machine",
        ),
        steps,
    }
}
