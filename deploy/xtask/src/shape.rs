//! Checks the shape of the source tree: no cycles between modules, whether through imports or through methods of one type, files short enough to
//! have one subject, and dependencies that stay in their wing.

mod graph;
mod imports;
mod methods;
mod owners;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::graph::Graph;
use self::imports::Module;
use crate::workspace::Workspace;

/// The maximum length of the shorter half of all files, in lines.
const MEDIAN: usize = 110;

/// The maximum length of nine out of ten files, in lines.
const NINE_OF_TEN: usize = 250;

/// The folders of our own code.
const FOLDERS: [&str; 4] = ["host", "sdk", "plugins", "deploy"];

/// Checks every source file of the workspace.
///
/// # Errors
/// Names each cycle, each dependency in a crate that must not have it, and the lengths of files if they are too long.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(&workspace.root.join(folder), &mut files)?;
    }
    let mut lengths = Vec::new();
    let mut crates: BTreeMap<PathBuf, Graph> = BTreeMap::new();
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        lengths.push(text.lines().count());
        if let Some((folder, path)) = module(workspace.relative(file)) {
            crates.entry(folder).or_default().add(Module::read(path, &text));
        }
    }
    let circles = crates.iter().flat_map(|(folder, graph)| {
        graph.circles().into_iter().map(move |circle| format!("{}: {circle}", folder.display()))
    });
    let mut complaints: Vec<String> = circles.collect();
    complaints.extend(owners::complaints(&workspace.root, &FOLDERS)?);
    complaints.extend(too_long(&mut lengths));
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}", complaints.join("\n  "))
}

/// All Rust files below a folder, sorted by name.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The crate and the module of a file; `None` for tests, which may import anything.
fn module(file: &Path) -> Option<(PathBuf, Vec<String>)> {
    let mut folder = PathBuf::new();
    let mut names = file.iter().map(|name| name.to_string_lossy());
    names.by_ref().take_while(|name| name != "src").for_each(|name| folder.push(&*name));
    let mut path: Vec<String> = names.map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    if path.is_empty() || path.iter().any(|name| name == "tests") {
        return None;
    }
    if path.first().is_some_and(|first| first == "bin") {
        let program: Vec<String> = path.drain(..path.len().min(2)).collect();
        folder.push(program.join("/"));
    }
    path.pop_if(|last| matches!(last.as_str(), "lib" | "main" | "mod"));
    Some((folder, path))
}

/// Complains if files are too long.
fn too_long(lengths: &mut [usize]) -> Option<String> {
    lengths.sort_unstable();
    let at = |tenths: usize| lengths.get(lengths.len() * tenths / 10).copied().unwrap_or_default();
    let (median, nine_of_ten) = (at(5), at(9));
    (median > MEDIAN || nine_of_ten > NINE_OF_TEN).then(|| {
        format!(
            "half of all files have up to {median} lines, and nine of ten up to {nine_of_ten}; the limits are {MEDIAN} and {NINE_OF_TEN}: \
             split files that have two subjects"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module_of_its_crate() {
        let found = |file: &str| {
            module(Path::new(file)).map(|(folder, path)| format!("{}: {}", folder.display(), path.join("::")))
        };
        assert_eq!(found("host/rpc/src/lib.rs").unwrap(), "host/rpc: ");
        assert_eq!(found("host/rpc/src/admin/check.rs").unwrap(), "host/rpc: admin::check");
        assert_eq!(found("deploy/xtask/src/demo/mod.rs").unwrap(), "deploy/xtask: demo");
        assert_eq!(found("host/e2e/src/bin/bench/main.rs").unwrap(), "host/e2e/bin/bench: ");
        assert_eq!(found("host/fuzz/src/bin/input.rs").unwrap(), "host/fuzz/bin/input: ");
        for test in ["host/rpc/src/server/tests.rs", "host/ctl/tests/exit.rs", "host/policy/build.rs"] {
            assert_eq!(found(test), None, "{test}");
        }
    }

    #[test]
    fn a_tenth_of_the_files_may_be_long() {
        let mut lengths = [vec![MEDIAN; 9], vec![NINE_OF_TEN; 1]].concat();
        assert_eq!(too_long(&mut lengths), None);
        lengths.push(NINE_OF_TEN + 1);
        assert_eq!(too_long(&mut lengths), None);
        lengths.extend([NINE_OF_TEN + 1; 2]);
        assert!(too_long(&mut lengths).is_some_and(|complaint| complaint.contains("up to 251;")));
    }
}
