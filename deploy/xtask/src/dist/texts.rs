//! The documentation in the archive, and the folders that it has as the repository has them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::copy;

/// Folders that are copied whole, by their names in the repository and in the archive.
const FOLDERS: [(&str, &str); 3] =
    [("deploy/systemd", "systemd"), ("deploy/kubernetes", "kubernetes"), ("wit", "wit")];

/// The folders that the texts name, by their names in the repository and in the archive.
const NAMES: [(&str, &str); 3] =
    [("deploy/book/src/", "book/"), ("deploy/systemd", "systemd"), ("deploy/kubernetes", "kubernetes")];

/// The directive of mdBook that stands for a file.
const INCLUDE: &str = "{{#include ";

/// Copies the folders and the files of documentation to the archive.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn texts(root: &Path, archive: &Path) -> Result<()> {
    for (from, to) in FOLDERS {
        copy(&root.join(from), &archive.join(to))?;
    }
    fs::copy(root.join("LICENSE"), archive.join("LICENSE"))?;
    fs::copy(root.join("deploy/archive/README.md"), archive.join("README.md"))?;
    fs::write(archive.join("CHANGELOG.md"), renamed(&fs::read_to_string(root.join("CHANGELOG.md"))?))?;
    book(&root.join("deploy/book/src"), &archive.join("book"))
}

/// Writes the pages of the book with what they include, so that they can be read as they are.
fn book(source: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source).with_context(|| source.display().to_string())? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.extension().is_some_and(|extension| extension == "md") {
            let page =
                included(source, &fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
            fs::write(target.join(name), renamed(&page))?;
        } else if path.is_dir() {
            copy(&path, &target.join(name))?;
        }
    }
    Ok(())
}

/// A page with the files that it includes, whole or from a first to a last line: `{{#include FILE:FIRST:LAST}}`.
fn included(folder: &Path, page: &str) -> Result<String> {
    let mut text = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once(INCLUDE) {
        let (place, after) = behind.split_once("}}").context("an include has no end")?;
        let mut parts = place.split(':');
        let path = folder.join(parts.next().unwrap_or_default());
        let file = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut number = || parts.next().map(str::parse::<usize>).transpose();
        let first = number()?.unwrap_or(1).saturating_sub(1);
        let last = number()?.unwrap_or(usize::MAX);
        let lines: Vec<_> = file.lines().take(last).skip(first).collect();
        text.extend([before, &lines.join("\n")]);
        rest = after;
    }
    Ok(text + rest)
}

/// A text that names folders as the archive names them.
fn renamed(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets of the links in a page outside of code, without those to sites and to places in the page itself.
    fn links(page: &str) -> impl Iterator<Item = &str> {
        let behind = page.split('`').step_by(2).flat_map(|text| text.split("](").skip(1));
        let targets = behind.filter_map(|behind| behind.split([')', '#']).next());
        targets.filter(|target| !target.is_empty() && !target.contains("://"))
    }

    #[test]
    fn the_archive_s_documentation_is_whole_and_its_links_lead_to_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let archive = tempfile::tempdir().unwrap();
        texts(root, archive.path()).unwrap();
        for file in [
            "LICENSE",
            "systemd/tenured.service",
            "kubernetes/chart/values.yaml",
            "kubernetes/definitions/addresspools.yaml",
            "kubernetes/manifests/cluster.yaml",
            "wit/ipam/next/ipam.wit",
        ] {
            assert!(archive.path().join(file).is_file(), "{file}");
        }
        let book = archive.path().join("book");
        let pages = fs::read_dir(&book).unwrap().map(|entry| entry.unwrap().path());
        let texts = ["README.md", "CHANGELOG.md", "wit/README.md"].map(|text| archive.path().join(text));
        let mut count = 0;
        for path in pages.filter(|path| path.is_file()).chain(texts) {
            let page = fs::read_to_string(&path).unwrap();
            assert!(!page.contains(INCLUDE), "{}", path.display());
            for link in links(&page) {
                assert!(path.parent().unwrap().join(link).exists(), "{}: {link}", path.display());
                count += 1;
            }
        }
        assert!(count > 100, "{count} links");
        let guide = fs::read_to_string(book.join("policy-guide.md")).unwrap();
        assert!(guide.contains("tenure_sdk::export!(Zones);"), "the example is in the page");
    }

    #[test]
    fn a_page_has_the_lines_that_it_includes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rs"), "1\n2\n3\n4\n").unwrap();
        let page = |text: &str| included(folder.path(), text);
        assert_eq!(page("x\n{{#include a.rs:2:3}}\ny\n").unwrap(), "x\n2\n3\ny\n");
        assert_eq!(page("{{#include a.rs}}").unwrap(), "1\n2\n3\n4");
        assert!(page("{{#include b.rs}}").is_err());
    }
}
