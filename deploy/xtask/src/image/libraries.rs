//! The libraries that a program needs, and their paths in an image.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::platform::Platform;
use crate::command::output;

/// The libraries of a program with the loader, each with its path in the image; none of a static one.
///
/// # Errors
/// If a library is missing.
pub(super) fn of(program: &Path, platform: Platform) -> Result<BTreeMap<String, PathBuf>> {
    if !platform.is_native() {
        return foreign(program, platform);
    }
    let Ok(text) = output(Command::new("ldd").arg(program).env("LC_ALL", "C")) else {
        // `ldd` fails for a static program, which needs none.
        return Ok(BTreeMap::new());
    };
    parse(&text)?.into_iter().map(|path| Ok((text_of(&path)?.to_owned(), path))).collect()
}

/// The libraries of a program for another platform, which come with its cross compiler. They go to where Debian has them there.
fn foreign(program: &Path, platform: Platform) -> Result<BTreeMap<String, PathBuf>> {
    let folder = Path::new("/usr").join(platform.tuple()).join("lib");
    let mut found = BTreeMap::new();
    let mut pending = vec![program.to_owned()];
    while let Some(file) = pending.pop() {
        let headers = output(platform.tool("objdump").arg("-p").arg(&file))?;
        for name in needed(&headers) {
            let library = folder.join(name);
            ensure!(
                library.exists(),
                "{} needs {name}, which is not in {}",
                file.display(),
                folder.display()
            );
            // The loader has its path from the programs.
            let to = if name.starts_with("ld-") {
                format!("lib/{name}")
            } else {
                format!("lib/{}/{name}", platform.tuple())
            };
            if found.insert(to, library.clone()).is_none() {
                pending.push(library);
            }
        }
    }
    Ok(found)
}

/// The names in what `objdump -p` prints.
fn needed(headers: &str) -> impl Iterator<Item = &str> {
    headers.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim)
}

/// The paths of what `ldd` prints.
fn parse(text: &str) -> Result<Vec<PathBuf>> {
    ensure!(!text.contains("not found"), "a library is missing:\n{text}");
    let path = |line: &str| {
        let line = line.trim();
        let found = line.split_once("=> ").map_or(line, |(_, found)| found);
        let path = found.split(" (").next().unwrap_or_default();
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    Ok(text.lines().filter_map(path).collect())
}

fn text_of(path: &Path) -> Result<&str> {
    Ok(path.to_str().context("the path of a library is not text")?.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_ldd_prints() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f41)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f42)\n";
        let paths = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(parse(text).unwrap(), paths);
        assert!(parse("\tlibx.so.1 => not found\n").is_err());
        assert_eq!(parse("\tstatically linked\n").unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn libraries_are_read_from_what_objdump_prints() {
        let text = "Dynamic Section:\n  NEEDED               libgcc_s.so.1\n  NEEDED               libc.so.6\n  SONAME               x\n";
        assert_eq!(needed(text).collect::<Vec<_>>(), ["libgcc_s.so.1", "libc.so.6"]);
    }
}
