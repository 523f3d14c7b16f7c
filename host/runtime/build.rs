//! Generates the client of the container runtime interface from the subset that the daemon uses. Needs no protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["proto/cri.proto"], ["proto"])?;
    // The fake runtime of tests needs the server.
    tonic_prost_build::configure()
        .server_mod_attribute("runtime.v1", "#[cfg(any(test, feature = \"fake\"))]")
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
