//! Type names that are defined in more than one crate: a reader who meets one in a signature cannot tell which is meant.

use std::collections::BTreeMap;
use std::path::Path;

/// Crates that are tests, or doubles for tests.
const TESTS: [&str; 5] = ["host/e2e", "host/sim", "host/fuzz", "host/fixtures", "host/ec2-double"];

/// Structs, enums, traits and aliases by name, each with the crates that define it.
#[derive(Debug, Default)]
pub(super) struct TypeNames {
    found: BTreeMap<String, BTreeMap<String, String>>,
}

impl TypeNames {
    /// Reads a file of a crate.
    pub(super) fn read(&mut self, folder: &str, file: &Path, text: &str) {
        // The template belongs to authors, and an example may show the policy of its name.
        let is_example = file.iter().any(|name| name == "examples");
        if TESTS.contains(&folder) || folder == "sdk/template" || is_example {
            return;
        }
        for (number, line) in (1..).zip(text.lines().take_while(|line| !line.starts_with("mod tests {"))) {
            if let Some(name) = defined(line) {
                let place = format!("{}:{number}", file.display());
                self.found.entry(name.to_owned()).or_default().entry(folder.to_owned()).or_insert(place);
            }
        }
    }

    /// Each name that two crates define, with where they do.
    pub(super) fn shared(&self) -> impl Iterator<Item = String> {
        let shared = self.found.iter().filter(|(_, crates)| crates.len() > 1);
        shared.map(|(name, crates)| {
            let places: Vec<&str> = crates.values().map(String::as_str).collect();
            format!("{name} is defined in {} crates: {}", places.len(), places.join(", "))
        })
    }
}

/// The name of the type or trait that a line defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = if line.starts_with("pub") { line.split_once(' ')?.1 } else { line };
    let name = ["struct ", "enum ", "trait "].into_iter().find_map(|keyword| line.strip_prefix(keyword))?;
    let name = name.split(|character: char| !(character.is_alphanumeric() || character == '_')).next()?;
    // A macro's `struct $name` defines no name.
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_crates_is_counted_once() {
        let mut names = TypeNames::default();
        names.read(
            "host/a",
            Path::new("host/a/x.rs"),
            "struct State;\npub(crate) enum Only {}\n    struct $name;\nmod tests {\nstruct T;\n",
        );
        names.read("host/a", Path::new("host/a/y.rs"), "    pub(super) struct State<'a> {\n");
        names.read(
            "host/b",
            Path::new("host/b/z.rs"),
            "\npub trait State: Send {\nstruct T;\nenum $name {\n",
        );
        names.read("host/e2e", Path::new("host/e2e/w.rs"), "struct Only;\n");
        let expected = ["State is defined in 2 crates: host/a/x.rs:1, host/b/z.rs:2"];
        assert_eq!(names.shared().collect::<Vec<_>>(), expected);
    }
}
