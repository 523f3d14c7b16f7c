//! Generates the container runtime interface's client from the subset of it that the tests use.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["proto/cri.proto"], ["proto"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    println!("cargo::rerun-if-changed=proto");
    Ok(())
}
