//! The code in `src/v1` is the one that `proto/` generates. It is committed so that a first build need not compile the generator.
//! With `TENURE_WRITE_STUBS=1` in the environment it is written instead of compared.

use std::path::Path;

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

#[test]
fn the_committed_code_is_what_the_protos_generate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let descriptors = protox::compile(PROTOS, [root.join("proto")]).unwrap();
    same(&root.join("src/v1/descriptors.bin"), &descriptors.encode_to_vec());

    let output = tempfile::tempdir().unwrap();
    let mut builder = tonic_prost_build::configure()
        .out_dir(output.path())
        .server_mod_attribute(".", "#[cfg(feature = \"server\")]")
        .client_mod_attribute(".", "#[cfg(feature = \"client\")]")
        .build_transport(false)
        .type_attribute(".", "#[cfg_attr(feature = \"serde\", derive(serde::Serialize))]")
        .type_attribute(".tenure.v1.Allocation.owner", "#[cfg_attr(feature = \"serde\", serde(untagged))]");
    for (field, attribute) in JSON {
        builder =
            builder.field_attribute(field, format!("#[cfg_attr(feature = \"serde\", serde({attribute}))]"));
    }
    builder.compile_fds(descriptors).unwrap();
    same(&root.join("src/v1/generated.rs"), &std::fs::read(output.path().join("tenure.v1.rs")).unwrap());
}

/// Compares a committed file with what was generated, or writes it.
fn same(file: &Path, generated: &[u8]) {
    if std::env::var_os("TENURE_WRITE_STUBS").is_some() {
        std::fs::write(file, generated).unwrap();
        return;
    }
    let path = file.display();
    assert!(
        std::fs::read(file).unwrap() == generated,
        "{path} is out of date: run this test with TENURE_WRITE_STUBS=1"
    );
}
