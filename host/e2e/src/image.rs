//! A container image that does nothing: one program that waits forever, built here so that no registry is needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, ensure};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The image's name.
pub const NAME: &str = "tenure.test/pause:1";

/// `pause(2)` in a loop: the machine code, and what an ELF header calls its machine.
#[cfg(target_arch = "x86_64")]
const PAUSE: (&[u8], u16) = (
    &[
        0xb8, 0x22, 0, 0, 0, // mov eax, 34 (pause)
        0x0f, 0x05, // syscall
        0xeb, 0xf7, // jmp back
    ],
    62,
);
#[cfg(target_arch = "aarch64")]
const PAUSE: (&[u8], u16) = (
    &[
        0x00, 0x00, 0x80, 0xd2, // mov x0, 0
        0x01, 0x00, 0x80, 0xd2, // mov x1, 0
        0x02, 0x00, 0x80, 0xd2, // mov x2, 0
        0x03, 0x00, 0x80, 0xd2, // mov x3, 0
        0x04, 0x00, 0x80, 0xd2, // mov x4, 0
        0x28, 0x09, 0x80, 0xd2, // mov x8, 73 (ppoll)
        0x01, 0x00, 0x00, 0xd4, // svc 0
        0xf9, 0xff, 0xff, 0x17, // b back
    ],
    183,
);

/// A whole static program: an ELF header, one program header and [`PAUSE`].
fn program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let (code, machine) = PAUSE;
    let size = HEADERS + code.len() as u64;
    let mut elf = Vec::new();
    // e_ident: 64 bits, little endian, version 1.
    elf.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // e_type ET_EXEC, e_machine, e_version.
    elf.extend_from_slice(&2u16.to_le_bytes());
    elf.extend_from_slice(&machine.to_le_bytes());
    elf.extend_from_slice(&1u32.to_le_bytes());
    // e_entry, e_phoff, e_shoff.
    for field in [BASE + HEADERS, 64, 0] {
        elf.extend_from_slice(&field.to_le_bytes());
    }
    // e_flags, then the sizes and counts of headers.
    elf.extend_from_slice(&0u32.to_le_bytes());
    for field in [64u16, 56, 1, 0, 0, 0] {
        elf.extend_from_slice(&field.to_le_bytes());
    }
    // PT_LOAD, readable and executable; offset, addresses, sizes, alignment.
    elf.extend_from_slice(&1u32.to_le_bytes());
    elf.extend_from_slice(&5u32.to_le_bytes());
    for field in [0, BASE, BASE, size, size, 0x1000] {
        elf.extend_from_slice(&field.to_le_bytes());
    }
    elf.extend_from_slice(code);
    elf
}

/// Creates a root directory that contains only `/pause`.
///
/// # Errors
/// When it cannot be written.
pub fn root(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory)?;
    let pause = directory.join("pause");
    fs::write(&pause, program())?;
    fs::set_permissions(pause, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Creates an image archive in the format of `docker save`.
///
/// # Errors
/// When it cannot be written.
pub fn archive(directory: &Path) -> anyhow::Result<std::path::PathBuf> {
    let (root_directory, parts) = (directory.join("root"), directory.join("image"));
    root(&root_directory)?;
    fs::create_dir_all(&parts)?;
    tar(&parts.join("layer.tar"), &root_directory, &["pause"])?;
    let digest: String =
        Sha256::digest(fs::read(parts.join("layer.tar"))?).iter().map(|byte| format!("{byte:02x}")).collect();
    let config = json!({
        "architecture": architecture()?,
        "os": "linux",
        "config": { "Entrypoint": ["/pause"], "WorkingDir": "/" },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    });
    fs::write(parts.join("config.json"), config.to_string())?;
    let manifest = json!([{ "Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"] }]);
    fs::write(parts.join("manifest.json"), manifest.to_string())?;
    let archive = directory.join("image.tar");
    tar(&archive, &parts, &["manifest.json", "config.json", "layer.tar"])?;
    Ok(archive)
}

/// Go's name for this architecture.
fn architecture() -> anyhow::Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("no pause program for {other}"),
    }
}

fn tar(archive: &Path, directory: &Path, members: &[&str]) -> anyhow::Result<()> {
    let status =
        Command::new("tar").arg("-cf").arg(archive).arg("-C").arg(directory).args(members).status()?;
    ensure!(status.success(), "tar: {status}");
    Ok(())
}
