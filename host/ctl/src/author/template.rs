//! The templates of new policies, embedded in the program.
//!
//! A file's name may end in `.in`, which is left out of the copy: so a template's `Cargo.toml` is not a package here. In
//! all files, `{{name}}` stands for the policy's name, `{{crate}}` for that name with `_` for `-`, `{{type}}` for the name as a type's, `{{sdk:CRATE:FOLDER}}` for a dependency on one of the SDK's crates,
//! and `{{version}}` for this program's version.

use std::path::{Path, PathBuf};

use tenure_types::{Error, ErrorCode};

use super::language::Language;

/// The files of a template, by their paths in it.
pub(super) type Files = &'static [(&'static str, &'static str)];

/// Every template, by its language; one that is not plain, by its language and name.
const TEMPLATES: &[(&str, Files)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The program's version, which its SDK has, too.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The types and traits that Rust's prelude, the SDK's, and the templates bring into a policy's file.
const TAKEN: &str = "AsMut AsRef Attributes Box Clone Config ConfigError Cooling Copy Debug Default Definition Direction \
     DoubleEndedIterator Drop Effect EffectKind Eq Err ExactSizeIterator Extend Fn FnMut FnOnce From FromIterator \
     Future Hash Into IntoFuture IntoIterator IpAddr Iterator Need Node None Ok Option Ord Outcome PartialEq \
     PartialOrd Planner Policy Pool PoolDefinition Proposal Range Refusal Request Result Shelf Some Standing \
     Stateful Send Sized String SupplySituation Sync ToOwned ToString TryFrom TryInto Unpin Usage Vec";

/// The interface's definition.
pub(super) const WIT: &str = include!(concat!(env!("OUT_DIR"), "/wit.rs"));

/// The template that a language must have; a policy of it keeps no state and does not plan.
pub(crate) const PLAIN: &str = "plain";

/// Lists the templates' names. Not every language has each.
pub(crate) const NAMES: [&str; 3] = [PLAIN, "stateful", "planner"];

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
    /// Reads the argument. Without one, it is the SDK that came with this program, if the template needs one.
    pub(super) fn read(argument: Option<String>, files: Files) -> Result<Self, Error> {
        let Some(text) = argument.filter(|text| !text.is_empty()) else {
            if !files.iter().any(|(_, text)| text.contains("{{sdk:")) {
                return Ok(Self::Version(VERSION.into()));
            }
            let program =
                std::env::current_exe().map_err(|error| Error::new(ErrorCode::InputOutput, error))?;
            return beside(&program).map(Self::Folder).ok_or_else(|| {
                let cause = format!(
                    "no SDK of version {VERSION} beside {}, and none in share/tenure/sdk; pass --sdk with the path of the archive's \
                     `sdk` folder, the address of the git repository, or a version that your cargo registry has",
                    program.display()
                );
                Error::new(ErrorCode::ToolMissing, cause)
            });
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

/// The SDK that came with a program: `sdk` or `share/tenure/sdk` in a folder above it, as in the archive, in /usr/local, and in a clone.
/// One of another version is passed over.
fn beside(program: &Path) -> Option<PathBuf> {
    let folders = program.ancestors().skip(1);
    let mut found = folders.flat_map(|folder| [folder.join("sdk"), folder.join("share/tenure/sdk")]);
    found.find(|sdk| sdk.join("guest/Cargo.toml").is_file() && version(sdk).as_deref() == Some(VERSION))
}

/// The version of an SDK, which its workspace names: in its folder in the archive, above it in a clone.
fn version(sdk: &Path) -> Option<String> {
    let manifests = [sdk.join("Cargo.toml"), sdk.parent()?.join("Cargo.toml")];
    let text = manifests.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    let (_, package) = text.split_once("[workspace.package]")?;
    let line = package.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim().trim_matches('"').to_owned())
}

/// The files of a language's template, as they are embedded.
pub(super) fn of(language: &Language, template: &str) -> Result<Files, Error> {
    let folder = match template {
        PLAIN => language.name.to_owned(),
        template => format!("{}-{template}", language.name),
    };
    let missing = || {
        let cause = format!("there is no {template} template in {}; rust has one", language.name);
        Error::new(ErrorCode::BuildFailed, cause)
    };
    TEMPLATES.iter().find(|(known, _)| *known == folder).map(|(_, files)| *files).ok_or_else(missing)
}

/// The files of a new policy, by their paths in its folder.
pub(super) fn files(language: &Language, files: Files, name: &str, sdk: &Sdk) -> Vec<(PathBuf, String)> {
    let copy = |(path, text): &(&str, &str)| {
        (PathBuf::from(path.strip_suffix(".in").unwrap_or(path)), filled(text, name, sdk))
    };
    let wit = language.wit.map(|path| (PathBuf::from(path), WIT.to_owned()));
    files.iter().map(copy).chain(wit).collect()
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
            ["version"] => VERSION.to_owned(),
            ["sdk", _, folder] => sdk.dependency(folder),
            // Not a placeholder, but the language's own braces.
            _ => format!("{{{{{placeholder}}}}}"),
        };
        filled.extend([before, &value]);
        rest = after;
    }
    filled + rest
}

/// The name as that of a type: `in-turn` is `InTurn`. What a template uses itself gets an ending: `option` is `OptionPolicy`.
fn type_name(name: &str) -> String {
    let words = name.split('-').map(str::chars);
    let mut named = String::with_capacity(name.len());
    for mut word in words {
        named.extend(word.next().map(|first| first.to_ascii_uppercase()));
        named.extend(word);
    }
    if TAKEN.split(' ').any(|taken| taken == named) { named + "Policy" } else { named }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::language::names;

    #[test]
    fn every_language_has_a_template_with_its_marker_and_without_placeholders() {
        for name in names() {
            let language = Language::named(name).unwrap();
            let templates = NAMES.iter().filter_map(|template| of(language, template).ok());
            let templates: Vec<_> = templates.collect();
            assert_eq!(templates.len(), if name == "rust" { 3 } else { 1 }, "{name}");
            for template in templates {
                let files = files(language, template, "mine", &Sdk::Version("0.1.0".into()));
                assert!(files.iter().any(|(path, _)| path == Path::new(language.marker)), "{name}");
                for (path, text) in &files {
                    for placeholder in ["{{name", "{{crate", "{{type", "{{sdk", "{{version"] {
                        assert!(!text.contains(placeholder), "{name}: {}", path.display());
                    }
                }
            }
        }
        let none = of(Language::named("go").unwrap(), "planner").unwrap_err();
        assert_eq!(none.cause, "there is no planner template in go; rust has one");
    }

    #[test]
    fn a_type_has_a_name_that_nothing_else_in_its_file_has() {
        assert_eq!(
            ["in-turn", "option", "pool-definition"].map(type_name),
            ["InTurn", "OptionPolicy", "PoolDefinitionPolicy"]
        );
        let prelude = include_str!("../../../../sdk/guest/src/prelude.rs");
        let (_, exported) = prelude.split_once("pub use").unwrap();
        let words = exported.split(|letter: char| !letter.is_alphanumeric());
        for word in words.filter(|word| word.starts_with(char::is_uppercase)) {
            assert!(TAKEN.split(' ').any(|taken| taken == word), "{word}");
        }
    }

    #[test]
    fn the_sdk_comes_from_a_version_a_repository_or_a_folder() {
        let line = |sdk: &Sdk| filled("tenure-sdk = {{sdk:tenure-sdk:guest}} {{x}}", "mine", sdk);
        assert_eq!(line(&Sdk::Version("0.1.0".into())), "tenure-sdk = \"0.1.0\" {{x}}");
        let git = Sdk::read(Some("https://example.com/tenure.git".into()), &[]).unwrap();
        assert_eq!(line(&git), "tenure-sdk = { git = \"https://example.com/tenure.git\" } {{x}}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk").canonicalize().unwrap();
        let sdk = Sdk::read(Some(folder.display().to_string()), &[]).unwrap();
        assert_eq!(line(&sdk), format!("tenure-sdk = {{ path = \"{}/guest\" }} {{{{x}}}}", folder.display()));
        assert!(Sdk::read(Some("/".into()), &[]).is_err() && Sdk::read(Some("latest".into()), &[]).is_err());
    }

    #[test]
    fn the_sdk_of_a_program_is_beside_it_in_the_archive_or_in_share_and_has_its_version() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |path: &str| scratch.path().join(path);
        let place = |folder: &str, manifest: &str, version: &str| {
            std::fs::create_dir_all(at(folder).join("guest")).unwrap();
            std::fs::write(at(folder).join("guest/Cargo.toml"), "").unwrap();
            let text = format!("[workspace.package]\nversion = {version:?}\n");
            std::fs::write(at(manifest), text).unwrap();
        };
        assert_eq!(beside(&at("usr/bin/tenurectl")), None);
        place("usr/share/tenure/sdk", "usr/share/tenure/sdk/Cargo.toml", VERSION);
        assert_eq!(beside(&at("usr/bin/tenurectl")), Some(at("usr/share/tenure/sdk")));
        place("dist/sdk", "dist/sdk/Cargo.toml", "0.0.1");
        assert_eq!(beside(&at("dist/tenurectl")), None, "another version's");
        place("clone/sdk", "clone/Cargo.toml", VERSION);
        assert_eq!(beside(&at("clone/target/debug/tenurectl")), Some(at("clone/sdk")));
    }
}
