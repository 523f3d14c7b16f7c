//! The interface as defined in `wit/ipam.wit` of this package, generated: what every policy imports and exports, and a module for each
//! interface that only some export.
#![expect(missing_docs, reason = "generated from ipam.wit, which documents it")]

wit_bindgen::generate!({
    path: "wit",
    inline: "package tenure:sdk;
        world network {
            import tenure:ipam/types@0.1.0-rc.1;
            import tenure:ipam/ledger@0.1.0-rc.1;
            import tenure:ipam/configuration@0.1.0-rc.1;
            import tenure:ipam/log@0.1.0-rc.1;
            export tenure:ipam/network@0.1.0-rc.1;
        }",
    generate_all,
    pub_export_macro: true,
    export_macro_name: "export_network_component",
    default_bindings_module: "tenure_sdk::bindings",
});

/// The export of a policy that keeps no state.
pub mod allocation {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package tenure:sdk; world allocation { export tenure:ipam/allocation@0.1.0-rc.1; }",
        with: { "tenure:ipam/types@0.1.0-rc.1": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_allocation_component",
        default_bindings_module: "tenure_sdk::bindings::allocation",
    });
}

/// The export of a policy that keeps state.
pub mod stateful {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package tenure:sdk; world stateful { export tenure:ipam/stateful-allocation@0.1.0-rc.1; }",
        with: { "tenure:ipam/types@0.1.0-rc.1": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_stateful_component",
        default_bindings_module: "tenure_sdk::bindings::stateful",
    });
}

/// The export of a policy that plans.
pub mod planner {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package tenure:sdk; world planner { export tenure:supply/planning@0.1.0-rc.1; }",
        with: { "tenure:ipam/types@0.1.0-rc.1": crate::bindings::tenure::ipam::types },
        pub_export_macro: true,
        export_macro_name: "export_planner_component",
        default_bindings_module: "tenure_sdk::bindings::planner",
    });
}
