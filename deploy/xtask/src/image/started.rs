//! Whether the programs of an image start where there is nothing else: in a root unpacked from its layers.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::layout;
use super::platform::Platform;
use crate::command::output;

/// Unpacks a platform's layers beside the layout, and asks each program for its version there; those of a foreign platform in an emulator.
///
/// Without root or the emulator, nothing is started, which is said.
///
/// # Errors
/// If a program does not start.
pub(super) fn check(folder: &Path, name: &str, platform: Platform) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        println!("note: {name} was not started, which needs root");
        return Ok(());
    }
    if !platform.is_native() && platform.emulator_version().is_none() {
        println!("note: {name} was not started, which needs {}", platform.emulator());
        return Ok(());
    }
    let root = folder.with_extension("root");
    let manifest = layout::manifest(folder, platform)?;
    for layer in manifest.get("layers").and_then(serde_json::Value::as_array).into_iter().flatten() {
        let archive = layout::archive(folder, layer)?;
        let mut archive = tar::Archive::new(&archive[..]);
        archive.set_preserve_permissions(true);
        archive.unpack(&root).context("cannot unpack a layer")?;
    }
    let mut started = 0;
    for entry in fs::read_dir(root.join("usr/local/bin"))? {
        let program = Path::new("/usr/local/bin").join(entry?.file_name());
        let ran = command(&root, &program, platform).arg("--version").output()?;
        // A CNI plugin's standard output belongs to the runtime.
        let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        let is_ours = ran.status.success() && said.contains(env!("CARGO_PKG_VERSION"));
        ensure!(is_ours, "{} does not start in the image: {said}", program.display());
        started += 1;
    }
    if root.join("usr/sbin/nft").exists() {
        output(Command::new("chroot").arg(&root).args(["/usr/sbin/nft", "--version"]))?;
    }
    println!("{name}: {started} programs for {platform} start in its root");
    fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))
}

/// The command that starts a program in a root. An emulator looks there for the loader and the libraries, and this machine has none
/// for a foreign platform.
fn command(root: &Path, program: &Path, platform: Platform) -> Command {
    if platform.is_native() {
        let mut command = Command::new("chroot");
        command.arg(root).arg(program);
        return command;
    }
    let mut command = Command::new(platform.emulator());
    command.arg("-L").arg(root).arg(root.join(program.strip_prefix("/").unwrap_or(program)));
    command
}
