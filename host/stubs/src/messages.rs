//! The messages and services of the protocols in `proto/`. Needs no protoc.

use std::fs;

use anyhow::Result;
use prost::Message as _;
use tonic_prost_build::{Builder, FileDescriptorSet};

use crate::{GeneratedFile, workspace};

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

/// The protocol between the daemon and its callers, with the services and JSON behind the features of `tenure-rpc`; and its descriptors,
/// for reflection.
pub(crate) fn of_rpc() -> Result<[GeneratedFile; 2]> {
    let descriptors = protox::compile(PROTOS, [workspace().join("host/rpc/proto")])?;
    let bytes = descriptors.encode_to_vec();
    let mut builder = tonic_prost_build::configure()
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        .client_mod_attribute(".", "#[cfg(feature = \"client\")]")
        .type_attribute(".", "#[cfg_attr(feature = \"serde\", derive(serde::Serialize))]")
        .type_attribute(".tenure.v1.Allocation.owner", "#[cfg_attr(feature = \"serde\", serde(untagged))]");
    for (field, attribute) in JSON {
        let attribute = format!("#[cfg_attr(feature = \"serde\", serde({attribute}))]");
        builder = builder.field_attribute(field, attribute);
    }
    Ok([
        GeneratedFile::new("host/rpc/src/v1/generated.rs", code(builder, descriptors, "tenure.v1")?),
        GeneratedFile::new("host/rpc/src/v1/descriptors.bin", bytes),
    ])
}

/// The subset of the container runtime interface that the daemon calls. The fake runtime of tests needs the server.
pub(crate) fn of_runtime() -> Result<GeneratedFile> {
    let descriptors = protox::compile(["cri.proto"], [workspace().join("host/runtime/proto")])?;
    let builder = tonic_prost_build::configure()
        .server_mod_attribute("runtime.v1", "#[cfg(any(test, feature = \"fake\"))]");
    Ok(GeneratedFile::new("host/runtime/src/v1/generated.rs", code(builder, descriptors, "runtime.v1")?))
}

/// The messages of agents, and the client of their service.
pub(crate) fn of_agents() -> Result<GeneratedFile> {
    let descriptors = protox::compile(["tenure/v1/claims.proto"], [workspace().join("host/rpc/proto")])?;
    let builder = tonic_prost_build::configure().build_server(false);
    Ok(GeneratedFile::new("sdk/agent-rust/src/v1/generated.rs", code(builder, descriptors, "tenure.v1")?))
}

fn code(builder: Builder, descriptors: FileDescriptorSet, package: &str) -> Result<Vec<u8>> {
    let output = tempfile::tempdir()?;
    builder.build_transport(false).out_dir(output.path()).compile_fds(descriptors)?;
    Ok(fs::read(output.path().join(format!("{package}.rs")))?)
}
