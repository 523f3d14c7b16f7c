//! The files of an image: programs, the libraries that they need, and the few files and links that every program expects.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::elf;
use super::libraries;
use super::platform::Platform;

/// The certificates of public authorities, on this machine and in an image.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// An entry of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RootEntry {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: String },
}

/// The root of an image on one platform.
#[derive(Debug)]
pub(super) struct ImageRoot {
    pub(super) platform: Platform,
    /// By path, without a leading slash.
    entries: BTreeMap<String, RootEntry>,
}

impl ImageRoot {
    /// A root with the files that every program expects.
    ///
    /// # Errors
    /// Never for these.
    pub(super) fn new(platform: Platform) -> Result<Self> {
        let mut root = Self { platform, entries: BTreeMap::new() };
        let users = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
        root.file("etc/passwd", 0o644, users.into())?;
        root.file("etc/group", 0o644, "root:x:0:\nnonroot:x:65532:\n".into())?;
        root.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n".into())?;
        root.directory("run", 0o755);
        root.directory("tmp", 0o1777);
        // A network namespace has one place, by whichever name a runtime calls it.
        root.parents("var/run");
        root.entries.insert("var/run".to_owned(), RootEntry::Link { target: "/run".to_owned() });
        Ok(root)
    }

    /// The entries, in the order of paths: a directory comes before what is in it.
    pub(super) fn entries(&self) -> &BTreeMap<String, RootEntry> {
        &self.entries
    }

    /// Adds a program, and the libraries that its loader finds for it.
    ///
    /// # Errors
    /// If it cannot be read, is for another platform, or a library is missing.
    pub(super) fn program(&mut self, from: &Path, to: &str) -> Result<()> {
        self.executable(from, to)?;
        for (to, library) in libraries::of(from, self.platform)? {
            self.executable(&library, &to)?;
        }
        Ok(())
    }

    fn executable(&mut self, from: &Path, to: &str) -> Result<()> {
        let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        let is_ours = elf::platform(&content) == Some(self.platform);
        ensure!(is_ours, "{} is not a program for {}", from.display(), self.platform);
        self.file(to, 0o755, content)
    }

    /// Adds a program of this machine, if it has that.
    ///
    /// # Errors
    /// As [`Self::program`].
    pub(super) fn program_if_installed(&mut self, name: &str, to: &str) -> Result<()> {
        if !self.platform.is_native() {
            println!(
                "note: {name} for {} is not installed on this machine, so the image does not have it",
                self.platform
            );
            return Ok(());
        }
        let places = ["/usr/sbin", "/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        match places.iter().find(|path| path.is_file()) {
            Some(path) => self.program(path, to),
            None => {
                println!("note: {name} is not installed on this machine, so the image does not have it");
                Ok(())
            }
        }
    }

    /// Adds the certificates of public authorities that this machine has: registries and clouds prove who they are by them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(super) fn certificates(&mut self) -> Result<()> {
        let from = Path::new("/").join(CERTIFICATES);
        if !from.exists() {
            println!(
                "note: ca-certificates is not installed on this machine, so the image does not have them"
            );
            return Ok(());
        }
        let content = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
        self.file(CERTIFICATES, 0o644, content)
    }

    fn file(&mut self, path: &str, mode: u32, content: Vec<u8>) -> Result<()> {
        self.parents(path);
        let new = RootEntry::File { mode, content };
        let old = self.entries.insert(path.to_owned(), new.clone());
        ensure!(old.is_none_or(|old| old == new), "two files are to be {path}");
        Ok(())
    }

    fn directory(&mut self, path: &str, mode: u32) {
        self.parents(path);
        self.entries.insert(path.to_owned(), RootEntry::Directory { mode });
    }

    fn parents(&mut self, path: &str) {
        for parent in Path::new(path).ancestors().skip(1).filter_map(Path::to_str).filter(|at| !at.is_empty())
        {
            self.entries.entry(parent.to_owned()).or_insert(RootEntry::Directory { mode: 0o755 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_before_its_files() {
        let mut root = ImageRoot::new(Platform::Amd64).unwrap();
        root.file("a/b/c", 0o644, b"1".to_vec()).unwrap();
        let paths: Vec<_> = root.entries().keys().filter(|path| path.starts_with('a')).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
        assert!(root.file("a/b/c", 0o644, b"1".to_vec()).is_ok());
        assert!(root.file("a/b/c", 0o644, b"2".to_vec()).is_err());
    }

    #[test]
    fn a_program_of_another_platform_is_refused() {
        let other = match Platform::native().unwrap() {
            Platform::Amd64 => Platform::Arm64,
            Platform::Arm64 => Platform::Amd64,
        };
        let mut root = ImageRoot::new(other).unwrap();
        let error = root.program(Path::new("/proc/self/exe"), "usr/local/bin/tenured").unwrap_err();
        assert_eq!(error.to_string(), format!("/proc/self/exe is not a program for {other}"));
    }
}
