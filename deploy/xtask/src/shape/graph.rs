//! The modules of a crate and what they use of each other: their imports, each resolved to the module that defines the imported item, and
//! the methods that a type's `impl` in one module calls of its `impl` in another.
//!
//! What is used of an ancestor module is not counted: a module and its ancestors form one unit, whose boundaries the compiler enforces.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::imports::Module;

/// A module's path in its crate.
type Path = Vec<String>;

/// The modules that a module uses; for each, a method that it calls there, unless it imports something from it.
type Used<'a> = BTreeMap<&'a Path, Option<String>>;

/// The modules that define each method of each type, which is named with its own module.
type Definers<'a> = BTreeMap<(&'a Path, &'a str), BTreeMap<&'a str, BTreeSet<&'a Path>>>;

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

    /// Each cycle, as `a -> b -> a`, with a method where it is called without an import; cycles through the same modules are listed once.
    pub(super) fn circles(&self) -> Vec<String> {
        let definers = self.definers();
        let edges: BTreeMap<&Path, Used<'_>> =
            self.modules.iter().map(|(path, module)| (path, self.used(module, &definers))).collect();
        let mut seen: BTreeSet<BTreeSet<&Path>> = BTreeSet::new();
        let mut circles = Vec::new();
        for start in self.modules.keys() {
            if let Some(circle) = back_to(start, &edges)
                && seen.insert(circle.iter().copied().collect())
            {
                circles.push(told(&circle, &edges));
            }
        }
        circles
    }

    /// The sibling and descendant modules that a module imports from, or calls methods of its own types in.
    fn used<'a>(&'a self, module: &'a Module, definers: &Definers<'a>) -> Used<'a> {
        let mut used: Used<'a> = self.called(module, definers);
        let imported = module.imports.iter().filter_map(|path| self.find(&module.path, path, 0));
        used.extend(imported.map(|path| (path, None)));
        used.retain(|path, _| !module.path.starts_with(path));
        used
    }

    /// The modules in which the methods are defined that a module calls on `self`.
    fn called<'a>(&'a self, module: &'a Module, definers: &Definers<'a>) -> Used<'a> {
        let mut used = Used::new();
        for block in &module.impls {
            let Some(own) = self.own_type(module, &block.target) else { continue };
            let Some(methods) = definers.get(&own) else { continue };
            for called in &block.called {
                let Some(defined_in) = methods.get(called.as_str()) else { continue };
                // Of several traits' methods of one name, its own file's is meant.
                if !defined_in.contains(&module.path) {
                    let method = format!("{}::{called}", own.1);
                    used.extend(defined_in.iter().map(|path| (*path, Some(method.clone()))));
                }
            }
        }
        used
    }

    fn definers(&self) -> Definers<'_> {
        let mut definers = Definers::new();
        for (path, module) in &self.modules {
            for block in &module.impls {
                let Some(own) = self.own_type(module, &block.target) else { continue };
                let methods = definers.entry(own).or_default();
                for method in &block.defined {
                    methods.entry(method).or_default().insert(path);
                }
            }
        }
        definers
    }

    /// The type of the crate that an `impl` in a module is of, with the module that defines it: types of one name are told apart.
    fn own_type<'a>(&'a self, module: &'a Module, target: &[String]) -> Option<(&'a Path, &'a str)> {
        let name = target.last()?;
        let of = |module: &'a Module| module.types.get(name).map(|name| (&module.path, name.as_str()));
        if target.len() > 1 {
            return self.modules.get(self.find(&module.path, target, 0)?).and_then(of);
        }
        let imported = || {
            let found = module.imports.iter().filter_map(|path| self.find(&module.path, path, 0));
            found.filter_map(|path| self.modules.get(path)).find_map(of)
        };
        of(module).or_else(imported)
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
fn back_to<'a>(start: &'a Path, edges: &BTreeMap<&'a Path, Used<'a>>) -> Option<Vec<&'a Path>> {
    let mut came_from: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for next in edges.get(at).into_iter().flat_map(BTreeMap::keys).copied() {
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

/// A circle in words.
fn told(circle: &[&Path], edges: &BTreeMap<&Path, Used<'_>>) -> String {
    let mut told = String::new();
    for (at, next) in circle.iter().zip(circle.iter().skip(1)) {
        told.push_str(&shown(at));
        match edges.get(*at).and_then(|used| used.get(*next)) {
            Some(Some(method)) => told.push_str(&format!(" -({method})-> ")),
            _ => told.push_str(" -> "),
        }
    }
    told.extend(circle.last().map(|last| shown(last)));
    told
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

    /// The engine was one such circle of fifteen modules, which no import showed.
    #[test]
    fn a_circle_through_methods_of_one_type_is_found_without_an_import() {
        let engine = ("engine", "pub struct Engine;");
        let file = |calls: &str, defines: &str| {
            format!(
                "use crate::engine::Engine;\nimpl Engine {{\n    pub(crate) fn {defines}(&self) {{\n        {calls}\n    }}\n}}\n"
            )
        };
        let (a, b) = (file("self.two();", "one"), file("self.one();", "two"));
        assert_eq!(circles(&[engine, ("a", &a), ("b", &b)]), ["a -(Engine::two)-> b -(Engine::one)-> a"]);
        let b = file("self.field.one(); other.one();", "two");
        assert_eq!(circles(&[engine, ("a", &a), ("b", &b)]), [""; 0], "methods of others");
        let mixed = format!("use crate::a::Thing;\n{}", file("", "two"));
        assert_eq!(circles(&[engine, ("a", &a), ("b", &mixed)]), ["a -(Engine::two)-> b -> a"]);
        let own = format!("{}impl Engine {{\n    fn one(&self) {{}}\n}}\n", file("self.one();", "two"));
        assert_eq!(
            circles(&[engine, ("a", &a), ("b", &own)]),
            [""; 0],
            "it has a method of that name itself"
        );
    }

    #[test]
    fn types_of_one_name_are_told_apart() {
        let state = |calls: &str, defines: &str| {
            format!("struct State;\nimpl State {{\n    fn {defines}(&self) {{\n        {calls}\n    }}\n}}\n")
        };
        let (a, b) = (state("self.two();", "one"), state("self.one();", "two"));
        assert_eq!(circles(&[("a", &a), ("b", &b)]), [""; 0]);
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
