//! Reads the methods of a module's types, and the calls that they make on their own type: a method may be defined in one file and called
//! in another without any import.
//!
//! This is not a Rust parser, either. It relies on the formatting of our own code: an `impl` begins and ends at the beginning of a line, and
//! its methods are indented once.

use std::collections::BTreeSet;

/// An `impl` of a type.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ImplBlock {
    /// The type's name or path, as written, without generic parameters.
    pub(super) target: Vec<String>,
    /// The methods and functions that it defines.
    pub(super) defined: BTreeSet<String>,
    /// The methods and functions that are called on `self` and `Self`.
    pub(super) called: BTreeSet<String>,
}

/// The types and traits that a module defines.
pub(super) fn types(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.starts_with(char::is_whitespace));
    lines.filter_map(defined_type).map(str::to_owned).collect()
}

/// The `impl` blocks of a module, from its code without comments.
pub(super) fn impls(code: &str) -> Vec<ImplBlock> {
    let mut blocks = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("impl ") && !line.starts_with("impl<") {
            continue;
        }
        let mut header = line.to_owned();
        while !header.trim_end().ends_with(['{', '}']) {
            let Some(more) = lines.next() else { break };
            header.push(' ');
            header.push_str(more.trim());
        }
        let body: Vec<&str> = match header.trim_end().ends_with('{') {
            true => lines.by_ref().take_while(|line| *line != "}").collect(),
            false => Vec::new(),
        };
        let defined = body.iter().filter_map(|line| line.strip_prefix("    ")).filter_map(defined_method);
        let defined = defined.map(str::to_owned).collect();
        blocks.push(ImplBlock { target: target(&header), defined, called: called(&body.join("\n")) });
    }
    blocks
}

/// The name of the type or trait that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = without_visibility(line);
    let rest = ["struct ", "enum ", "union ", "trait ", "type "]
        .into_iter()
        .find_map(|word| line.strip_prefix(word))?;
    name(rest)
}

/// The name of the method that a line of an `impl`, without its indentation, defines.
fn defined_method(line: &str) -> Option<&str> {
    let mut line = without_visibility(line);
    while let Some(rest) =
        ["const ", "async ", "unsafe "].into_iter().find_map(|word| line.strip_prefix(word))
    {
        line = rest;
    }
    name(line.strip_prefix("fn ")?)
}

fn without_visibility(line: &str) -> &str {
    match line.strip_prefix("pub") {
        Some(rest) => rest.split_once(' ').map_or(line, |(_, rest)| rest),
        None => line,
    }
}

/// The name at the beginning of a text.
fn name(text: &str) -> Option<&str> {
    text.split(|character: char| !is_part(character)).next().filter(|name| !name.is_empty())
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The type of an `impl`, by its header.
fn target(header: &str) -> Vec<String> {
    let header = header.trim_start_matches("impl").trim_end_matches(['{', '}', ' ']);
    let header = header.split_once(" where ").map_or(header, |(header, _)| header);
    let header = without_generics(header);
    let target = header.rsplit_once(" for ").map_or(header.as_str(), |(_, target)| target);
    let path = target.trim().trim_start_matches(['&', '\'']);
    path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// A text without what is between angle brackets.
fn without_generics(text: &str) -> String {
    let mut depth = 0_u32;
    let mut before = ' ';
    let mut kept = String::new();
    for character in text.chars() {
        match character {
            '<' => depth += 1,
            // The arrow of a function's type.
            '>' if before == '-' => {}
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
        before = character;
    }
    kept
}

/// The names that are called on `self` and `Self`: `self.name(`, also over two lines, `self.name::<` and `Self::name`.
fn called(body: &str) -> BTreeSet<String> {
    let of_self = body.match_indices("self").filter_map(|(at, _)| {
        let rest = behind(body, at, "self")?.trim_start().strip_prefix('.')?.trim_start();
        let name = name(rest)?;
        let next = rest.get(name.len()..)?;
        (next.starts_with('(') || next.starts_with("::<")).then_some(name)
    });
    let of_type = body.match_indices("Self::").filter_map(|(at, _)| name(behind(body, at, "Self::")?));
    of_self.chain(of_type).map(str::to_owned).collect()
}

/// The text behind a word at a position; `None` if the word is only the end of a longer one.
fn behind<'a>(text: &'a str, at: usize, word: &str) -> Option<&'a str> {
    let (before, rest) = text.split_at_checked(at)?;
    if before.ends_with(is_part) { None } else { rest.get(word.len()..) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_methods_of_a_type_and_its_calls_are_read() {
        let code = "pub(crate) struct Engine<T> {\n    field: T,\n}\n\nimpl<T: Clone> Engine<T>\nwhere\n    T: Send,\n{\n    \
                    pub(crate) async fn add(&self) {\n        self.field.free();\n        self.one();\n        let two = self\n            \
                    .two::<u8>(myself.three());\n        Self::four(two);\n    }\n\n    const fn five() {}\n}\n\nfn six() {}\n";
        let block = ImplBlock {
            target: vec!["Engine".to_owned()],
            defined: set(&["add", "five"]),
            called: set(&["one", "two", "four"]),
        };
        assert_eq!(impls(code), [block]);
        assert_eq!(types(code), set(&["Engine"]));
    }

    #[test]
    fn the_type_of_an_impl_is_what_it_is_for() {
        let of = |header: &str| target(header).join("::");
        for (header, expected) in [
            ("impl Engine {", "Engine"),
            ("impl<'a, F: Fn() -> u8> Drop for super::Watching<'a, F> {", "super::Watching"),
            ("impl From<Vec<u8>> for Bytes where Self: Sized {", "Bytes"),
            ("impl fmt::Display for Name {", "Name"),
            ("impl Empty for Nothing {}", "Nothing"),
        ] {
            assert_eq!(of(header), expected, "{header}");
        }
    }
}
