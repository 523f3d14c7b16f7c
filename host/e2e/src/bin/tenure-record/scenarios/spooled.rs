//! A DEL while the daemon is down.

use tenure_e2e::recording::{File, Step, Turn};

use super::{Scenario, add, ctl, daemon, plugin, subnet};

pub(super) fn scenario() -> Scenario {
    let pods = || subnet("1.0.0", "pods", "10.85.0.0/24");
    let steps = vec![
        add("a pod whose DEL will be spooled", "goes", pods()),
        add("a pod that stays", "stays", pods()),
        daemon(Turn::Stop),
        Step::Spool {
            call: plugin("a DEL while the daemon is down", "DEL", "goes", pods()),
            file: File::default(),
        },
        daemon(Turn::Start),
        ctl(&["allocations"]),
        ctl(&["allocation", "10.85.0.2"]),
        Step::Plugin(plugin("the other pod still has its address", "CHECK", "stays", pods())),
    ];
    Scenario {
        name: "spooled",
        about: "a DEL while the daemon is down, replayed after its start",
        configuration: "",
        answers_only: None,
        steps,
    }
}
