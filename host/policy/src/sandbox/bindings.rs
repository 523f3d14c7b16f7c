//! The host side of `wit/`, generated.

wasmtime::component::bindgen!({
    path: "../../wit/ipam/next",
    world: "policy",
    // A question that a recording cannot answer ends the call.
    imports: { default: trappable },
    // Questions, answers and outcomes are recorded.
    additional_derives: [serde::Serialize, serde::Deserialize],
});

/// The exports of a policy that plans, in addition to the required ones.
pub(crate) mod planner {
    wasmtime::component::bindgen!({
        path: "../../wit/ipam/next",
        inline: "package tenure:host; world planner { export tenure:supply/planning@0.1.0-rc.1; }",
        with: { "tenure:ipam/types": super::tenure::ipam::types },
    });
}

/// The exports of a policy that keeps state, in addition to the required ones.
pub(crate) mod stateful {
    wasmtime::component::bindgen!({
        path: "../../wit/ipam/next",
        inline: "package tenure:host; world stateful { export tenure:ipam/stateful-allocation@0.1.0-rc.1; }",
        with: { "tenure:ipam/types": super::tenure::ipam::types },
    });
}
