//! Generates the messages, and the services of the enabled features. Needs no protoc.

use std::path::PathBuf;

use prost::Message as _;

const PROTOS: [&str; 7] = [
    "tenure/v1/cni.proto",
    "tenure/v1/admin.proto",
    "tenure/v1/claims.proto",
    "tenure/v1/cloud.proto",
    "tenure/v1/cluster.proto",
    "tenure/v1/agent_cni.proto",
    "tenure/v1/eni.proto",
];

/// The fields whose JSON is not the field itself.
const JSON: [(&str, &str); 8] = [
    // An attachment is in the fields beside it, and an unknown owner has only its addresses.
    (".tenure.v1.Allocation.owner", "rename = \"claim\""),
    (".tenure.v1.Allocation.owner.attachment", "serialize_with = \"crate::json::none\""),
    (".tenure.v1.Allocation.owner.unknown", "serialize_with = \"crate::json::none\""),
    (".tenure.v1.PolicyState.state", "rename = \"bytes\", serialize_with = \"crate::json::length\""),
    (".tenure.v1.MissingFamily.family", "serialize_with = \"crate::json::family\""),
    // These only tell the daemon of an unknown owner.
    (".tenure.v1.ImportEntry.claims", "skip"),
    (".tenure.v1.ImportEntry.unknown_because", "skip"),
    (".tenure.v1.ImportEntry.claimed_at_ms", "skip"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("tenure.v1.bin"), descriptors.encode_to_vec())?;

    let enabled = |feature| std::env::var_os(feature).is_some();
    let mut builder = tonic_prost_build::configure()
        .build_server(enabled("CARGO_FEATURE_SERVER"))
        .build_client(enabled("CARGO_FEATURE_CLIENT"))
        .build_transport(false);
    if enabled("CARGO_FEATURE_SERDE") {
        builder = builder.type_attribute(".", "#[derive(serde::Serialize)]");
        builder = builder.type_attribute(".tenure.v1.Allocation.owner", "#[serde(untagged)]");
        for (field, attribute) in JSON {
            builder = builder.field_attribute(field, format!("#[serde({attribute})]"));
        }
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}
