//! The modules of a crate and their imports, each resolved to the module that defines the imported item.
//!
//! Imports from an ancestor module are not counted: a module and its ancestors form one unit, whose boundaries the compiler enforces.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::imports::Module;

/// A module's path in its crate.
type Path = Vec<String>;

/// The modules of one crate.
#[derive(Debug, Default)]
pub(super) struct Graph {
    modules: BTreeMap<Path, Module>,
}

impl Graph {
    /// Adds a module.
    pub(super) fn add(&mut self, module: Module) {
        self.modules.insert(module.path.clone(), module);
    }

    /// Each import cycle, as `a -> b -> a`; cycles through the same modules are listed once.
    pub(super) fn circles(&self) -> Vec<String> {
        let edges: BTreeMap<&Path, BTreeSet<&Path>> =
            self.modules.iter().map(|(path, module)| (path, self.imported(module))).collect();
        let mut seen: BTreeSet<BTreeSet<&Path>> = BTreeSet::new();
        let mut circles = Vec::new();
        for start in self.modules.keys() {
            if let Some(circle) = back_to(start, &edges)
                && seen.insert(circle.iter().copied().collect())
            {
                circles.push(circle.into_iter().map(shown).collect::<Vec<_>>().join(" -> "));
            }
        }
        circles
    }

    /// The sibling and descendant modules that a module imports from.
    fn imported<'a>(&'a self, module: &'a Module) -> BTreeSet<&'a Path> {
        let found = module.imports.iter().filter_map(|path| self.find(&module.path, path, 0));
        found.filter(|path| !module.path.starts_with(path)).collect()
    }

    /// The module that defines what a path names, as seen from a module. Follows re-exports to their origin.
    fn find<'a>(&'a self, from: &Path, written: &[String], hops: u32) -> Option<&'a Path> {
        let path = self.absolute(from, written)?;
        let known =
            (0..=path.len()).rev().find_map(|length| self.modules.get_key_value(path.get(..length)?))?;
        let (found, module) = known;
        let name = path.get(found.len());
        let handed_on = module.exports.iter().find(|(export, _)| Some(export) == name);
        match handed_on {
            // Some names lead back to themselves, such as a function with the name of its module.
            Some((_, further)) if hops < 8 => self.find(found, further, hops + 1).or(Some(found)),
            _ => Some(found),
        }
    }

    /// The path from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, from: &Path, written: &[String]) -> Option<Path> {
        let (first, rest) = written.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([from, rest].concat()),
            "super" => {
                let above = from.get(..from.len().checked_sub(1)?)?.to_vec();
                if rest.first().is_some_and(|next| next == "super") {
                    self.absolute(&above, rest)
                } else {
                    Some([above, rest.to_vec()].concat())
                }
            }
            child => {
                let path = [from.as_slice(), &[child.to_owned()]].concat();
                self.modules.contains_key(&path).then(|| [from.as_slice(), written].concat())
            }
        }
    }
}

/// The shortest path from a module back to itself, with the module at both ends.
fn back_to<'a>(start: &'a Path, edges: &BTreeMap<&'a Path, BTreeSet<&'a Path>>) -> Option<Vec<&'a Path>> {
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for next in edges.get(at).into_iter().flatten().copied() {
            if next == start {
                let way = std::iter::successors(Some(at), |module| came_from.get(module).copied());
                let mut circle: Vec<_> = std::iter::once(start).chain(way).collect();
                circle.reverse();
                return Some(circle);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, at);
                waiting.push_back(next);
            }
        }
    }
    None
}

fn shown(path: &Path) -> String {
    if path.is_empty() { "the root".to_owned() } else { path.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(modules: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph::default();
        for (path, text) in modules {
            let path = path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            graph.add(Module::read(path, text));
        }
        graph.circles()
    }

    #[test]
    fn a_circle_is_found_however_its_imports_are_written() {
        assert_eq!(circles(&[("a", "use crate::b::C;"), ("b", "fn f() { super::a::g() }")]), ["a -> b -> a"]);
        let three =
            [("a", "use crate::b::B;"), ("b", "use super::{c::C, d};"), ("c", "use crate::a::A;"), ("d", "")];
        assert_eq!(circles(&three), ["a -> b -> c -> a"]);
    }

    #[test]
    fn a_child_may_take_what_its_parent_has() {
        let child = ("a::b", "use super::C; use crate::d::E;");
        assert_eq!(circles(&[("a", "mod b; fn f() { b::g() }"), child, ("d", "")]), [""; 0]);
        assert_eq!(circles(&[("a", ""), child, ("d", "use crate::a::b::F;")]), ["a::b -> d -> a::b"]);
    }

    #[test]
    fn what_is_handed_on_is_imported_from_where_it_is() {
        let root = ("", "mod a; mod b; pub use a::A; pub use b::B;");
        assert_eq!(circles(&[root, ("a", "use crate::B;"), ("b", "")]), [""; 0]);
        assert_eq!(circles(&[root, ("a", "use crate::B;"), ("b", "use crate::A;")]), ["a -> b -> a"]);
        assert_eq!(
            circles(&[("a", "pub use a::a;"), ("b", "use crate::a::a;")]),
            [""; 0],
            "a name that is its module's"
        );
    }
}
