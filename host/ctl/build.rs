//! Embeds the templates of `tenurectl policy new`: every file of `sdk/template/LANGUAGE`, and the interface.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let sources = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let (templates, wit) = (sources.join("sdk/template"), sources.join("wit/ipam/next/ipam.wit"));
    println!("cargo::rerun-if-changed={}\ncargo::rerun-if-changed={}", templates.display(), wit.display());
    let mut table = String::from("[\n");
    for folder in sorted(&templates)?.iter().filter(|folder| folder.is_dir()) {
        writeln!(table, "({:?}, &[", name(folder)?)?;
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        for file in files {
            let path = file.strip_prefix(folder)?.to_str().ok_or("a file's name is not text")?;
            writeln!(table, "({path:?}, include_str!({:?})),", file.display().to_string())?;
        }
        table.push_str("]),\n");
    }
    table.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("templates.rs"), format!("&{table}"))?;
    Ok(fs::write(out.join("wit.rs"), format!("include_str!({:?})", wit.display().to_string()))?)
}

/// The files in a folder and below it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in sorted(folder)? {
        if entry.is_dir() { collect(&entry, files)? } else { files.push(entry) }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut entries =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> Result<&str, Box<dyn Error>> {
    Ok(path.file_name().and_then(|name| name.to_str()).ok_or("a folder's name is not text")?)
}
