//! The client of the container runtime interface in `src/v1` is the one that `proto/` generates, from the subset that the daemon uses.
//! With `TENURE_WRITE_STUBS=1` in the environment it is written instead of compared.

use std::path::Path;

#[test]
fn the_committed_code_is_what_the_proto_generates() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = protox::compile(["cri.proto"], [root.join("proto")]).unwrap();
    let output = tempfile::tempdir().unwrap();
    // The fake runtime of tests needs the server.
    tonic_prost_build::configure()
        .out_dir(output.path())
        .server_mod_attribute("runtime.v1", "#[cfg(any(test, feature = \"fake\"))]")
        .build_transport(false)
        .compile_fds(files)
        .unwrap();

    let generated = std::fs::read(output.path().join("runtime.v1.rs")).unwrap();
    let file = root.join("src/v1/generated.rs");
    if std::env::var_os("TENURE_WRITE_STUBS").is_some() {
        std::fs::write(file, generated).unwrap();
        return;
    }
    let path = file.display();
    assert!(
        std::fs::read(&file).unwrap() == generated,
        "{path} is out of date: run this test with TENURE_WRITE_STUBS=1"
    );
}
