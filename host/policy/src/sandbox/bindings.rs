//! The host's side of `wit/`, generated.

wasmtime::component::bindgen!({ path: "../../wit/ipam/next", world: "policy" });

/// What a planner exports beside a policy.
pub(crate) mod planner {
    wasmtime::component::bindgen!({
        path: "../../wit/ipam/next",
        inline: "package tenure:host; world planner { export tenure:ipam/planning@0.1.0; }",
        with: { "tenure:ipam/types": super::tenure::ipam::types },
    });
}

/// What a policy that keeps a state exports beside a policy.
pub(crate) mod stateful {
    wasmtime::component::bindgen!({
        path: "../../wit/ipam/next",
        inline: "package tenure:host; world stateful { export tenure:ipam/stateful-allocation@0.1.0; }",
        with: { "tenure:ipam/types": super::tenure::ipam::types },
    });
}
