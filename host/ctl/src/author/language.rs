//! The languages that a policy can be written in.
//!
//! A language is a folder in `sdk/template` and a line in [`LANGUAGES`]; its recipe has a module here.

mod bindings;
mod c;
mod go;
mod module;
mod python;
mod rust;
mod tool;
mod typescript;

use std::path::Path;

use tenure_types::{Error, ErrorCode};

pub(super) use self::bindings::WORLD;
pub(super) use self::module::wrapped;

/// A language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Language {
    /// Name on the command line, and folder in `sdk/template`.
    pub(crate) name: &'static str,
    /// A file that every policy in this language has, and that no other language's has.
    pub(crate) marker: &'static str,
    /// Path of the interface's definition in the template, for languages that generate their own bindings.
    pub(crate) wit: Option<&'static str>,
    /// Builds the policy in a folder and returns the component's bytes.
    ///
    /// An error names the tool that is missing and how to get it ([`ErrorCode::ToolMissing`]), or what to change
    /// ([`ErrorCode::BuildFailed`]).
    pub(crate) build: fn(&Path) -> Result<Vec<u8>, Error>,
}

/// Every language.
const LANGUAGES: &[Language] = &[
    Language { name: "rust", marker: "Cargo.toml", wit: None, build: rust::build },
    Language { name: "c", marker: "rule.c", wit: Some(bindings::WIT), build: c::build },
    Language { name: "go", marker: "go.mod", wit: Some(bindings::WIT), build: go::build },
    Language { name: "typescript", marker: "rule.ts", wit: Some(bindings::WIT), build: typescript::build },
    Language { name: "python", marker: "rule.py", wit: Some(bindings::WIT), build: python::build },
];

/// Lists the names of the languages.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|language| language.name)
}

impl Language {
    /// The language of this name.
    pub(super) fn named(name: &str) -> Result<&'static Self, Error> {
        let unknown = || Error::new(ErrorCode::BuildFailed, format_args!("there is no language {name}"));
        LANGUAGES.iter().find(|language| language.name == name).ok_or_else(unknown)
    }

    /// The language of the policy in a folder.
    pub(super) fn of(folder: &Path) -> Result<&'static Self, Error> {
        let none = || {
            let markers: Vec<_> = LANGUAGES.iter().map(|language| language.marker).collect();
            let markers = markers.join(", ");
            let cause = format!(
                "{} is not a policy's folder: it has no {markers}; `tenurectl policy new` creates one",
                folder.display()
            );
            Error::new(ErrorCode::BuildFailed, cause)
        };
        LANGUAGES.iter().find(|language| folder.join(language.marker).is_file()).ok_or_else(none)
    }
}
