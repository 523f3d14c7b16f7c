//! The interface as `wit/` writes it.
#![expect(missing_docs, reason = "generated from wit/, which documents it")]

wit_bindgen::generate!({
    path: "../../wit/ipam/next",
    world: "policy",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "tenure_sdk::bindings",
});

/// What a planner exports beside a policy.
pub mod planner {
    wit_bindgen::generate!({
        path: "../../wit/ipam/next",
        inline: "package tenure:sdk; world planner { export tenure:ipam/planning@0.1.0; }",
        with: { "tenure:ipam/types@0.1.0": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_planner_component",
        default_bindings_module: "tenure_sdk::bindings::planner",
    });
}

/// What a policy that keeps a state exports beside a policy.
pub mod stateful {
    wit_bindgen::generate!({
        path: "../../wit/ipam/next",
        inline: "package tenure:sdk; world stateful { export tenure:ipam/stateful-allocation@0.1.0; }",
        with: { "tenure:ipam/types@0.1.0": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_stateful_component",
        default_bindings_module: "tenure_sdk::bindings::stateful",
    });
}
