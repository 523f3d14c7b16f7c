//! The interface as defined in `wit/ipam.wit` of this package, generated.
#![expect(missing_docs, reason = "generated from ipam.wit, which documents it")]

wit_bindgen::generate!({
    path: "wit",
    world: "policy",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "tenure_sdk::bindings",
});

/// The exports of a policy that plans, in addition to the required ones.
pub mod planner {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package tenure:sdk; world planner { export tenure:supply/planning@0.1.0; }",
        with: { "tenure:ipam/types@0.1.0": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_planner_component",
        default_bindings_module: "tenure_sdk::bindings::planner",
    });
}

/// The exports of a policy that keeps state, in addition to the required ones.
pub mod stateful {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package tenure:sdk; world stateful { export tenure:ipam/stateful-allocation@0.1.0; }",
        with: { "tenure:ipam/types@0.1.0": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_stateful_component",
        default_bindings_module: "tenure_sdk::bindings::stateful",
    });
}
