//! Generates the messages, and the services of the enabled features. Needs no protoc.

use std::path::PathBuf;

use prost::Message as _;

const PROTOS: [&str; 6] = [
    "tenure/v1/cni.proto",
    "tenure/v1/admin.proto",
    "tenure/v1/claims.proto",
    "tenure/v1/cloud.proto",
    "tenure/v1/agent_cni.proto",
    "tenure/v1/eni.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("tenure.v1.bin"), descriptors.encode_to_vec())?;

    let enabled = |feature| std::env::var_os(feature).is_some();
    tonic_prost_build::configure()
        .build_server(enabled("CARGO_FEATURE_SERVER"))
        .build_client(enabled("CARGO_FEATURE_CLIENT"))
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
