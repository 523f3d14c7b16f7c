//! `policy new`: a folder with a policy of a template.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tenure_types::{Error, ErrorCode, PolicyName};

use super::language::Language;
use super::template::{self, Sdk, files};
use crate::render::{Page, Shown};

/// The names that no crate of a policy can have: keywords of Rust, its own crates, and those that a policy depends on.
const RESERVED: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern false final \
     fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static std struct \
     super tenure-sdk tenure-testkit test trait true try type typeof unsafe unsized use virtual where while yield";

/// A new policy.
#[derive(Serialize)]
pub(crate) struct Created {
    pub(crate) folder: PathBuf,
    pub(crate) language: &'static str,
    /// The files, by their paths in the folder.
    pub(crate) files: Vec<PathBuf>,
}

impl Shown for Created {
    fn page(&self, _: u64) -> Page {
        let folder = self.folder.display();
        let mut text = format!("Created a policy in {folder}, in {}:\n", self.language);
        for file in &self.files {
            text.push_str(&format!("  {}\n", file.display()));
        }
        text.push_str(&format!("Next: tenurectl policy test {folder}\n"));
        text.into()
    }
}

/// Creates the folder; it must be absent or empty.
pub(super) fn new(
    folder: &Path,
    language: &str,
    template: &str,
    sdk: Option<String>,
) -> Result<Created, Error> {
    let language = Language::named(language)?;
    let name = name(folder)?;
    let template = template::of(language, template)?;
    let sdk = Sdk::read(sdk, template)?;
    let failed = |path: &Path, error: &std::io::Error| {
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    if fs::read_dir(folder).map_err(|error| failed(folder, &error))?.next().is_some() {
        let cause = format!("{} is not empty; name a folder that does not exist yet", folder.display());
        return Err(Error::new(ErrorCode::InputOutput, cause));
    }
    let mut created = Vec::new();
    for (path, text) in files(language, template, &name, &sdk) {
        let file = folder.join(&path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        }
        fs::write(&file, text).map_err(|error| failed(&file, &error))?;
        created.push(path);
    }
    Ok(Created { folder: folder.into(), language: language.name, files: created })
}

/// The name of the policy in a folder: the folder's, which every language must be able to use as a package's name.
fn name(folder: &Path) -> Result<String, Error> {
    let name = std::path::absolute(folder).ok();
    let name = name.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
        && PolicyName::new(name).is_ok();
    if is_name && RESERVED.split(' ').any(|word| word == name) {
        let cause =
            format!("{name:?} has a meaning of its own in Rust or its libraries; choose another name");
        return Err(Error::new(ErrorCode::BuildFailed, cause));
    }
    if is_name {
        return Ok(name.to_owned());
    }
    let cause = format!(
        "{name:?} cannot be a policy's name: it must begin with a lowercase letter, and contain only lowercase letters, digits and '-'"
    );
    Err(Error::new(ErrorCode::BuildFailed, cause))
}
