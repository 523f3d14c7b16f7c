//! Reads a module's imports from its source: `use` of its own crate, and paths that begin with `crate` or `super`; and its methods.
//!
//! This is not a Rust parser. It relies on the formatting of our own code, and ignores everything after `mod tests`.

use std::collections::BTreeSet;

use super::methods::{self, ImplBlock};

/// A module: its path in the crate, its imports, its re-exports, and its types' methods.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Empty for the crate's root.
    pub(super) path: Vec<String>,
    /// The imported paths, as written.
    pub(super) imports: Vec<Vec<String>>,
    /// The names that it re-exports, each with its path as written.
    pub(super) exports: Vec<(String, Vec<String>)>,
    /// The types that it defines.
    pub(super) types: BTreeSet<String>,
    /// The `impl` blocks that it contains.
    pub(super) impls: Vec<ImplBlock>,
}

impl Module {
    /// Reads a module's source.
    pub(super) fn read(path: Vec<String>, text: &str) -> Self {
        let code: String = text.lines().take_while(|line| !line.starts_with("mod tests")).map(code).collect();
        let (types, impls) = (methods::types(&code), methods::impls(&code));
        let mut module = Self { path, types, impls, ..Self::default() };
        for statement in code.split(';') {
            let (before, used) = match word(statement, "use") {
                Some(at) => statement.split_at(at),
                None => (statement, ""),
            };
            module.imports.extend(inline(before));
            let tree = used.trim_start_matches("use").trim();
            let is_public = before.trim_end().rsplit(char::is_whitespace).next().is_some_and(is_visibility);
            for (path, name) in leaves(tree) {
                if is_public {
                    module.exports.push((name, path.clone()));
                }
                module.imports.push(path);
            }
        }
        module
    }
}

/// A line without its comment.
fn code(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    format!("{code}\n")
}

fn is_visibility(word: &str) -> bool {
    word == "pub" || word.starts_with("pub(")
}

/// The position of the last occurrence of a whole word in a text.
fn word(text: &str, word: &str) -> Option<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.rmatch_indices(word).map(|(at, _)| at).find(|at| {
        let (before, rest) = text.split_at(*at);
        let behind = rest.get(word.len()..).unwrap_or_default();
        !before.ends_with(is_part) && behind.starts_with(char::is_whitespace)
    })
}

/// Paths in expressions and types: those that begin with `crate` or `super`, and other paths of two or more names, which may name a child module.
fn inline(code: &str) -> Vec<Vec<String>> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | ':');
    let paths = code.split(|character: char| !is_part(character)).filter(|path| path.contains("::"));
    paths.map(segments).filter(|path| path.len() > 1).collect()
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Each path of a tree such as `a::{b, c::{self, d as e}}`, with its local name.
fn leaves(tree: &str) -> Vec<(Vec<String>, String)> {
    let Some((prefix, inner)) = tree.split_once('{') else {
        let (path, name) =
            tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name.trim())));
        let mut path = segments(path);
        path.pop_if(|last| last == "self" || last == "*");
        let name = name.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default();
        return if path.is_empty() { Vec::new() } else { vec![(path, name)] };
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let mut depth = 0_u32;
    let parts = inner.split(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| leaves(&format!("{prefix}{}", part.trim())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let module = Module::read(Vec::new(), text);
        module.imports.iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn uses_and_paths_are_found_and_nothing_in_comments_or_tests() {
        let text = "//! use crate::comment;\nuse std::fs;\n\npub(crate) use crate::a::{b, c::{self, d as e},\n    f};\n\
                    fn g() { super::h::i(); } // crate::no::no\nlet because = j::k();\nmod tests {\n    use crate::l;\n}\n";
        let expected =
            ["std::fs", "crate::a::b", "crate::a::c", "crate::a::c::d", "crate::a::f", "super::h::i", "j::k"];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_handed_on_has_its_name_here() {
        let module = Module::read(Vec::new(), "use a::B;\npub use c::{D, E as F};\npub(super) use g::*;\n");
        let names: Vec<_> =
            module.exports.iter().map(|(name, path)| (name.as_str(), path.join("::"))).collect();
        assert_eq!(names, [("D", "c::D".to_owned()), ("F", "c::E".to_owned()), ("g", "g".to_owned())]);
    }
}
