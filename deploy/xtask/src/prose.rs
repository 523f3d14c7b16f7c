//! Checks the English of documentation, comments, messages and the book, and counts type names with two meanings.
//!
//! Each folder has a limit in `deploy/xtask/prose.txt`. A folder above its limit fails; `cargo xtask prose --lower` lowers the
//! limits to the present counts, and never raises one.

mod docs;
mod limits;
mod names;
mod phrases;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::limits::ProseLimits;
use self::names::TypeNames;
use self::source::{Piece, TextKind};
use crate::workspace::Workspace;

/// The folders that are searched; their subfolders each have a limit.
const FOLDERS: [&str; 5] = ["host", "sdk", "plugins", "deploy", "wit"];

/// The table of limits.
const TABLE: &str = "deploy/xtask/prose.txt";

/// One place in a file that reads as translated.
#[derive(Debug)]
struct Remark {
    /// The file and line, and the complaint.
    text: String,
}

/// Checks every source file and page of the workspace against the limits; prints all remarks if asked to.
///
/// # Errors
/// Lists every remark in each folder that is above its limit.
pub(crate) fn check(workspace: &Workspace, lower: bool, all: bool) -> Result<()> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(&workspace.root.join(folder), &mut files)?;
    }
    files.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| workspace.root.join(page)));
    let mut remarks: BTreeMap<String, Vec<Remark>> = BTreeMap::new();
    let mut types = TypeNames::default();
    for path in &files {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = workspace.relative(path);
        let found = remarks.entry(folder(file)).or_default();
        if file.extension().is_some_and(|extension| extension == "md") {
            found.extend(judge(file, &source::markdown(&text)));
        } else {
            let pieces = source::rust(&text);
            found.extend(judge(file, &pieces));
            types.read(&folder(file), file, &text);
        }
    }
    remarks.insert("names".to_owned(), types.shared().map(|text| Remark { text }).collect());
    let counts: BTreeMap<String, usize> =
        remarks.iter().map(|(name, found)| (name.clone(), found.len())).collect();
    let table = workspace.root.join(TABLE);
    let mut limits = ProseLimits::parse(&fs::read_to_string(&table).context(TABLE)?)?;
    if lower {
        limits.lower(&counts);
        fs::write(&table, limits.to_string()).context(TABLE)?;
    }
    let mut complaints = Vec::new();
    for (name, found) in &remarks {
        let limit = limits.of(name);
        if all {
            found.iter().for_each(|remark| println!("{}", remark.text));
        }
        if found.len() > limit {
            complaints.push(format!("{name}: {} places, the limit is {limit}:", found.len()));
            complaints.extend(found.iter().map(|remark| format!("  {}", remark.text)));
        }
    }
    println!("{} places in all", counts.values().sum::<usize>());
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("prose that needs another look\n  {}", complaints.join("\n  "))
}

/// The folder whose limit counts for a file: the first two names of its path, or `.`.
fn folder(file: &Path) -> String {
    let names: Vec<_> = file.iter().map(|name| name.to_string_lossy()).collect();
    match names.as_slice() {
        [first, second, _, ..] => format!("{first}/{second}"),
        [first, _] => (*first).to_string(),
        _ => ".".to_owned(),
    }
}

/// All Rust files and pages below a folder that are neither tests nor generated, sorted by name.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort_unstable();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "tests" | "recordings" | "node_modules" | "html") {
                collect(&path, files)?;
            }
        } else if name.ends_with(".md")
            || (name.ends_with(".rs") && name != "tests.rs" && name != "generated.rs")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Judges the texts of a file.
fn judge(file: &Path, pieces: &[Piece]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for piece in pieces {
        let first = (piece.kind == TextKind::Doc).then(|| docs::complaint(&piece.text)).flatten();
        for complaint in first.into_iter().chain(phrases::complaints(&piece.text)) {
            remarks.push(Remark { text: format!("{}:{}: {complaint}", file.display(), piece.line) });
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_for_the_folder_of_its_crate() {
        assert_eq!(folder(Path::new("host/rpc/src/lib.rs")), "host/rpc");
        assert_eq!(folder(Path::new("deploy/book/src/aws.md")), "deploy/book");
        assert_eq!(folder(Path::new("wit/README.md")), "wit");
        assert_eq!(folder(Path::new("README.md")), ".");
    }

    #[test]
    fn a_remark_names_the_file_and_the_line() {
        let pieces = source::rust("fn f() {}\n\n/// Its name.\nfn g() { h(\"this shall not pass\") }\n");
        let remarks: Vec<String> =
            judge(Path::new("a.rs"), &pieces).into_iter().map(|remark| remark.text).collect();
        let expected = [
            "a.rs:3: a doc comment begins with a verb or the thing, not with \"Its\"",
            "a.rs:4: \"shall\": write must, should or will",
        ];
        assert_eq!(remarks, expected);
    }
}
