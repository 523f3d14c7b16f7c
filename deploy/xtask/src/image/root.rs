//! The files of an image: programs, the libraries that they need, and the few files and links that every program expects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::command::output;

/// An entry of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RootEntry {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: String },
}

/// The root of an image: entries by path, without a leading slash.
#[derive(Debug, Default)]
pub(super) struct ImageRoot(BTreeMap<String, RootEntry>);

impl ImageRoot {
    /// A root with the files that every program expects.
    ///
    /// # Errors
    /// Never for these.
    pub(super) fn new() -> Result<Self> {
        let mut root = Self::default();
        let users = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
        root.file("etc/passwd", 0o644, users.into())?;
        root.file("etc/group", 0o644, "root:x:0:\nnonroot:x:65532:\n".into())?;
        root.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n".into())?;
        root.directory("run", 0o755);
        root.directory("tmp", 0o1777);
        // A network namespace has one place, by whichever name a runtime calls it.
        root.parents("var/run");
        root.0.insert("var/run".to_owned(), RootEntry::Link { target: "/run".to_owned() });
        Ok(root)
    }

    /// The entries, in the order of paths: a directory comes before what is in it.
    pub(super) fn entries(&self) -> &BTreeMap<String, RootEntry> {
        &self.0
    }

    /// Adds a program, and the libraries that the machine's loader finds for it, each at the same path as here.
    ///
    /// # Errors
    /// If it cannot be read, or a library is missing.
    pub(super) fn program(&mut self, from: &Path, to: &str) -> Result<()> {
        let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.file(to, 0o755, content)?;
        for library in libraries(from)? {
            let content = fs::read(&library).with_context(|| format!("cannot read {}", library.display()))?;
            let to = library.to_str().context("the path of a library is not text")?;
            self.file(to.trim_start_matches('/'), 0o755, content)?;
        }
        Ok(())
    }

    /// Adds a program of this machine, if it has that.
    ///
    /// # Errors
    /// As [`Self::program`].
    pub(super) fn program_if_installed(&mut self, name: &str, to: &str) -> Result<()> {
        let places = ["/usr/sbin", "/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        match places.iter().find(|path| path.is_file()) {
            Some(path) => self.program(path, to),
            None => {
                println!("note: {name} is not installed on this machine, so the image does not have it");
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &str, mode: u32, content: Vec<u8>) -> Result<()> {
        self.parents(path);
        let new = RootEntry::File { mode, content };
        let old = self.0.insert(path.to_owned(), new.clone());
        ensure!(old.is_none_or(|old| old == new), "two files are to be {path}");
        Ok(())
    }

    fn directory(&mut self, path: &str, mode: u32) {
        self.parents(path);
        self.0.insert(path.to_owned(), RootEntry::Directory { mode });
    }

    fn parents(&mut self, path: &str) {
        for parent in Path::new(path).ancestors().skip(1).filter_map(Path::to_str).filter(|at| !at.is_empty())
        {
            self.0.entry(parent.to_owned()).or_insert(RootEntry::Directory { mode: 0o755 });
        }
    }
}

/// The libraries of a program, with the loader; none of a static one.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let Ok(text) = output(Command::new("ldd").arg(program).env("LC_ALL", "C")) else {
        // `ldd` fails for a static program, which needs none.
        return Ok(Vec::new());
    };
    parse(&text)
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
    fn a_directory_comes_before_its_files() {
        let mut root = ImageRoot::new().unwrap();
        root.file("a/b/c", 0o644, b"1".to_vec()).unwrap();
        let paths: Vec<_> = root.entries().keys().filter(|path| path.starts_with('a')).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
        assert!(root.file("a/b/c", 0o644, b"1".to_vec()).is_ok());
        assert!(root.file("a/b/c", 0o644, b"2".to_vec()).is_err());
    }
}
