//! Generates the container runtime interface's client from the part of it that the daemon asks. Needs no protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["proto/cri.proto"], ["proto"])?;
    // The server is what tests answer with.
    tonic_prost_build::configure()
        .server_mod_attribute("runtime.v1", "#[cfg(test)]")
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
