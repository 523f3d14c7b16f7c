//! A node that has lost its state.

use tenure_e2e::recording::{Step, Turn};

use super::{Scenario, add, ctl, daemon, del, plugin, subnet};

pub(super) fn scenario() -> Scenario {
    let pods = || subnet("1.1.0", "pods", "10.89.0.0/24");
    let steps = vec![
        add("a pod whose allocation will be lost", "survivor", pods()),
        daemon(Turn::Stop),
        daemon(Turn::LoseState),
        daemon(Turn::Start),
        ctl(&["status"]),
        add("an ADD while the state is lost", "next", pods()),
        Step::Plugin(plugin("a STATUS while the state is lost", "STATUS", "", pods())),
        Step::Plugin(plugin("a CHECK of a lost allocation", "CHECK", "survivor", pods())),
        del("a DEL of a lost allocation", "survivor", pods()),
        ctl(&["adopt", "--empty"]),
        ctl(&["status"]),
        add("an ADD after the confirmation", "next", pods()),
        ctl(&["adopt", "--empty"]),
        ctl(&["allocations"]),
    ];
    Scenario {
        name: "lost",
        about: "a node that has lost its state, and the operator's confirmation that no pod lives",
        configuration: "",
        answers_only: None,
        steps,
    }
}
