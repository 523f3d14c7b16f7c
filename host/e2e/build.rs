//! Generates the client for the subset of the container runtime interface that the tests use; for each folder of recordings, the
//! messages of its version, which decode the recordings; and what the clients of agents must have in their folders.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

/// The folder of the present protocol, and its file for agents.
const PRESENT: &str = "../rpc/proto";
const CLAIMS: &str = "tenure/v1/claims.proto";
/// The files of a recorded version's protocol.
const PROTOCOL: [&str; 2] = ["tenure/v1/cni.proto", "tenure/v1/admin.proto"];
/// The number of the type `bytes` in `descriptor.proto`.
const BYTES: i32 = 12;
/// The attribute that serializes a field of bytes as the JSON it contains.
const SHOWN: &str = "#[serde(serialize_with = \"crate::recording::frozen::shown\")]";

fn main() -> Result<(), Box<dyn Error>> {
    let files = protox::compile(["proto/cri.proto"], ["proto"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    println!("cargo::rerun-if-changed=proto");
    clients()?;
    recordings()
}

/// Generates the descriptors that Go's generator reads.
fn clients() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PRESENT}/{CLAIMS}");
    let files = protox::compile([CLAIMS], [PRESENT])?;
    Ok(fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("claims.bin"), files.encode_to_vec())?)
}

/// Generates a module of messages for each folder, and the table of all protocols.
fn recordings() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=recordings");
    let mut folders = fs::read_dir("recordings")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    folders.sort();
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let (mut modules, mut table) = (String::new(), String::new());
    for (number, folder) in folders.iter().filter(|folder| folder.join("proto").is_dir()).enumerate() {
        let module = format!("protocol_{number}");
        let methods = protocol(folder, &module, &out.join(&module))?;
        let name = folder.file_name().and_then(|name| name.to_str()).ok_or("a folder's name is not text")?;
        writeln!(modules, "/// The messages of {name}.")?;
        writeln!(modules, "pub mod {module} {{\n#![expect(missing_docs, reason = \"generated\")]")?;
        writeln!(modules, "include!(concat!(env!(\"OUT_DIR\"), \"/{module}/tenure.v1.rs\"));\n}}")?;
        writeln!(table, "Protocol {{ folder: {name:?}, methods: &[{methods}] }},")?;
    }
    let table = format!("/// Every recorded version.\npub const PROTOCOLS: &[Protocol] = &[{table}];\n");
    Ok(fs::write(out.join("recordings.rs"), modules + &table)?)
}

/// Generates the messages of one protocol into a directory, and returns its methods as table entries.
fn protocol(folder: &Path, module: &str, out: &Path) -> Result<String, Box<dyn Error>> {
    let files = protox::compile(PROTOCOL, [folder.join("proto")])?;
    let mut builder = tonic_prost_build::configure()
        .build_client(false)
        .build_server(false)
        .emit_rerun_if_changed(false)
        .type_attribute(".", "#[derive(serde::Serialize)]")
        .out_dir(out);
    let mut methods = String::new();
    for file in &files.file {
        let package = file.package();
        for message in &file.message_type {
            let bytes = message.field.iter().filter(|field| field.r#type == Some(BYTES));
            for field in bytes {
                let path = format!(".{package}.{}.{}", message.name(), field.name());
                builder = builder.field_attribute(path, SHOWN);
            }
        }
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{package}.{}/{}", service.name(), method.name());
                let read =
                    |name: &str| format!("read::<{module}::{}>", name.rsplit('.').next().unwrap_or(name));
                let (request, response) = (read(method.input_type()), read(method.output_type()));
                write!(methods, "Method {{ path: {path:?}, request: {request}, response: {response} }},")?;
            }
        }
    }
    fs::create_dir_all(out)?;
    builder.compile_fds(files)?;
    Ok(methods)
}
