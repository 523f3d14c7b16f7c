//! The templates of new policies, embedded in the program.
//!
//! A file's name may end in `.in`, which is left out of the copy: so a template's `Cargo.toml` is not a package here. In
//! all files, `{{name}}` stands for the policy's name, `{{crate}}` for that name with `_` for `-`, `{{type}}` for the name as a type's, `{{sdk:CRATE:FOLDER}}` for a dependency on one of the SDK's crates,
//! and `{{version}}` for this program's version.

use std::path::{Path, PathBuf};

use tenure_types::{Error, ErrorCode};

use super::language::Language;

/// The files of a template, by their paths in it.
type Files = &'static [(&'static str, &'static str)];

/// Every template, by its language.
const TEMPLATES: &[(&str, Files)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The interface's definition.
pub(super) const WIT: &str = include!(concat!(env!("OUT_DIR"), "/wit.rs"));

/// The source of the SDK's crates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sdk {
    /// A version from the registry.
    Version(String),
    /// A git repository.
    Git(String),
    /// The folder that has the crates in `guest`, `testkit` and so on.
    Folder(PathBuf),
}

impl Sdk {
    /// Reads the argument; without one, the registry has this program's version.
    pub(super) fn read(argument: Option<String>) -> Result<Self, Error> {
        let Some(text) = argument.filter(|text| !text.is_empty()) else {
            return Ok(Self::Version(env!("CARGO_PKG_VERSION").into()));
        };
        let folder = Path::new(&text);
        if folder.is_dir() {
            return match folder.canonicalize() {
                Ok(path) if path.join("guest/Cargo.toml").is_file() => Ok(Self::Folder(path)),
                _ => {
                    let cause = format!("{text} is not an SDK: it has no guest/Cargo.toml");
                    Err(Error::new(ErrorCode::BuildFailed, cause))
                }
            };
        }
        if text.contains("://") || text.ends_with(".git") {
            return Ok(Self::Git(text));
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self::Version(text));
        }
        let cause = format!("{text} is not a folder, a version or the address of a git repository");
        Err(Error::new(ErrorCode::BuildFailed, cause))
    }

    /// A dependency on a crate, as in Cargo.toml.
    fn dependency(&self, folder: &str) -> String {
        match self {
            Self::Version(version) => format!("{version:?}"),
            Self::Git(url) => format!("{{ git = {url:?} }}"),
            Self::Folder(path) => format!("{{ path = {:?} }}", path.join(folder).display().to_string()),
        }
    }
}

/// The files of a new policy, by their paths in its folder.
pub(super) fn files(language: &Language, name: &str, sdk: &Sdk) -> Result<Vec<(PathBuf, String)>, Error> {
    let missing = || Error::new(ErrorCode::Internal, format_args!("{} has no template", language.name));
    let (_, files) = TEMPLATES.iter().find(|(known, _)| *known == language.name).ok_or_else(missing)?;
    let copy = |(path, text): &(&str, &str)| {
        (PathBuf::from(path.strip_suffix(".in").unwrap_or(path)), filled(text, name, sdk))
    };
    let wit = language.wit.map(|path| (PathBuf::from(path), WIT.to_owned()));
    Ok(files.iter().map(copy).chain(wit).collect())
}

/// A template's text with its placeholders filled in.
fn filled(text: &str, name: &str, sdk: &Sdk) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((placeholder, after)) = behind.split_once("}}") else { break };
        let value = match placeholder.split(':').collect::<Vec<_>>().as_slice() {
            ["name"] => name.to_owned(),
            ["crate"] => name.replace('-', "_"),
            ["type"] => type_name(name),
            ["version"] => env!("CARGO_PKG_VERSION").to_owned(),
            ["sdk", _, folder] => sdk.dependency(folder),
            // Not a placeholder, but the language's own braces.
            _ => format!("{{{{{placeholder}}}}}"),
        };
        filled.extend([before, &value]);
        rest = after;
    }
    filled + rest
}

/// The name as that of a type: `in-turn` is `InTurn`.
fn type_name(name: &str) -> String {
    let words = name.split('-').map(str::chars);
    let mut named = String::with_capacity(name.len());
    for mut word in words {
        named.extend(word.next().map(|first| first.to_ascii_uppercase()));
        named.extend(word);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::language::names;

    #[test]
    fn every_language_has_a_template_with_its_marker_and_without_placeholders() {
        for name in names() {
            let language = Language::named(name).unwrap();
            let files = files(language, "mine", &Sdk::Version("0.1.0".into())).unwrap();
            assert!(files.iter().any(|(path, _)| path == Path::new(language.marker)), "{name}");
            for (path, text) in &files {
                for placeholder in ["{{name", "{{crate", "{{type", "{{sdk", "{{version"] {
                    assert!(!text.contains(placeholder), "{name}: {}", path.display());
                }
            }
        }
    }

    #[test]
    fn the_sdk_comes_from_a_version_a_repository_or_a_folder() {
        let line = |sdk: &Sdk| filled("tenure-sdk = {{sdk:tenure-sdk:guest}} {{x}}", "mine", sdk);
        assert_eq!(line(&Sdk::Version("0.1.0".into())), "tenure-sdk = \"0.1.0\" {{x}}");
        let git = Sdk::read(Some("https://example.com/tenure.git".into())).unwrap();
        assert_eq!(line(&git), "tenure-sdk = { git = \"https://example.com/tenure.git\" } {{x}}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk").canonicalize().unwrap();
        let sdk = Sdk::read(Some(folder.display().to_string())).unwrap();
        assert_eq!(line(&sdk), format!("tenure-sdk = {{ path = \"{}/guest\" }} {{{{x}}}}", folder.display()));
        assert!(Sdk::read(Some("/".into())).is_err() && Sdk::read(Some("latest".into())).is_err());
    }
}
