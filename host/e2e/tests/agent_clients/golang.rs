//! The client in Go: its stubs, and the program of its example.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context as _, ensure};
use prost::Message;
use tenure_e2e::golang;

use super::{same, sdk};

/// The descriptors of the protocol of agents: a serialised `FileDescriptorSet`.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/claims.bin"));

/// The programs that write the stubs, and what they are told: the package of the stubs, and to leave out the module's own path.
const GENERATORS: [&str; 2] = [
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
];
const PARAMETER: &str = "module=tenure/agent,Mtenure/v1/claims.proto=tenure/agent/tenurev1";

/// `FileDescriptorSet`, with its files as they are.
#[derive(Clone, PartialEq, Message)]
struct Descriptors {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// `google.protobuf.compiler.CodeGeneratorRequest`.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, repeated, tag = "1")]
    files_to_generate: Vec<String>,
    #[prost(string, tag = "2")]
    parameter: String,
    #[prost(bytes = "vec", repeated, tag = "15")]
    files: Vec<Vec<u8>>,
}

/// `google.protobuf.compiler.CodeGeneratorResponse`.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(string, tag = "1")]
    error: String,
    #[prost(message, repeated, tag = "15")]
    files: Vec<Generated>,
}

/// A file that was generated.
#[derive(Clone, PartialEq, Message)]
struct Generated {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "15")]
    content: String,
}

/// Compares the committed stubs with what the generators write, and has Go's own tools look at the module.
pub(crate) fn stubs() -> anyhow::Result<()> {
    let request = Request {
        files_to_generate: vec!["tenure/v1/claims.proto".to_owned()],
        parameter: PARAMETER.to_owned(),
        files: Descriptors::decode(DESCRIPTORS)?.files,
    };
    for generator in GENERATORS {
        let written = run(Command::new("go").args(["run", generator]), &request.encode_to_vec())?;
        let response = Response::decode(written.as_slice())?;
        ensure!(response.error.is_empty() && response.files.len() == 1, "{generator}: {:?}", response.error);
        for file in response.files {
            same(&folder().join(file.name), &file.content)?;
        }
    }
    run(Command::new("go").args(["vet", "./..."]).current_dir(folder()), &[])?;
    let unformatted = run(Command::new("gofmt").args(["-l", "."]).current_dir(folder()), &[])?;
    ensure!(unformatted.is_empty(), "not formatted: {}", String::from_utf8_lossy(&unformatted));
    Ok(())
}

/// The program of the example, which is built once for all tests.
pub(crate) fn example() -> anyhow::Result<PathBuf> {
    static BUILT: LazyLock<Result<PathBuf, String>> =
        LazyLock::new(|| build().map_err(|error| format!("{error:#}")));
    BUILT.clone().map_err(anyhow::Error::msg)
}

/// Runs the module's own tests, and builds its example without C libraries.
fn build() -> anyhow::Result<PathBuf> {
    run(Command::new("go").args(["test", "./..."]).current_dir(folder()), &[])?;
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-go");
    golang::build(&folder(), "./example", &program)?;
    Ok(program)
}

fn folder() -> PathBuf {
    sdk("agent-go")
}

/// Runs a program with some input, and returns its output.
fn run(command: &mut Command, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().with_context(|| format!("{command:?}"))?;
    // It may end without reading its input, which its status then explains.
    let _ = child.stdin.take().context("no input")?.write_all(input);
    let output = child.wait_with_output()?;
    let [said, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    ensure!(output.status.success(), "{command:?}: {}: {said}{told}", output.status);
    Ok(output.stdout)
}
