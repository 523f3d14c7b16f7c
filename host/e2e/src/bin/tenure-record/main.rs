//! `tenure-record` writes a folder of recordings: it runs each scenario with the programs of one version and records their
//! exchanges with the daemon.
//!
//! Needs root, for the plugin's boot clock. The programs are those in `TENURE_BIN_DIR`.

mod recorder;
mod scenarios;
mod tap;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use clap::Parser;
use tenure_e2e::{binaries, recording};

use self::recorder::Recorder;

/// Record the exchanges between a version's programs and its daemon.
#[derive(Debug, Parser)]
struct Arguments {
    /// The folder's name below host/e2e/recordings: the version and its commit, such as 0.1.0-36b1920
    name: String,
    /// The version's protocol: host/rpc/proto as of that commit
    #[arg(long, value_name = "DIR")]
    protocol: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-record: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { name, protocol }: &Arguments) -> anyhow::Result<()> {
    let folder = recording::root().join(name);
    let wrote = version()?;
    copy_protocol(protocol, &folder.join("proto"))?;
    for scenario in scenarios::all() {
        let name = scenario.name;
        let recording = Recorder::record(scenario, &wrote).with_context(|| name.to_owned())?;
        recording.write(&folder)?;
        println!("{}/{name}", folder.display());
    }
    Ok(())
}

/// The daemon's own name and version.
fn version() -> anyhow::Result<String> {
    let output = Command::new(binaries::find("tenured")?).arg("--version").output()?;
    ensure!(output.status.success(), "tenured --version: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Copies the `.proto` files that decode the recording.
fn copy_protocol(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_protocol(&path, &to)?;
        } else {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}
