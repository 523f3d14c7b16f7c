//! `policy build`: from a folder to a component.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tenure_types::{Error, ErrorCode};

use super::language::{Language, WORLD, wrapped};
use super::template::WIT;
use crate::render::{Page, Shown};

/// The component's file in a policy's folder.
const COMPONENT: &str = "policy.wasm";

/// A policy that was built.
#[derive(Serialize)]
pub(crate) struct Built {
    pub(crate) file: PathBuf,
    pub(crate) language: &'static str,
    pub(crate) bytes: usize,
    pub(crate) sha256: String,
}

impl Shown for Built {
    fn page(&self, _: u64) -> Page {
        format!("{}: {} bytes, sha256 {}\n", self.file.display(), self.bytes, self.sha256).into()
    }
}

/// Builds the policy in a folder and writes the component into it.
pub(super) fn build(folder: &Path) -> Result<Built, Error> {
    let language = Language::of(folder)?;
    let component = (language.build)(folder)?;
    written(folder.join(COMPONENT), language.name, &component)
}

/// Makes a component of a module, described by the interface of this program.
pub(super) fn wrap(module: &Path, output: Option<PathBuf>) -> Result<Built, Error> {
    let component = wrapped(module, WIT, WORLD)?;
    written(output.unwrap_or_else(|| module.with_file_name(COMPONENT)), "module", &component)
}

/// Writes a component.
fn written(file: PathBuf, language: &'static str, component: &[u8]) -> Result<Built, Error> {
    fs::write(&file, component)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))?;
    let sha256 = tenure_policy::sha256(component);
    Ok(Built { file, language, bytes: component.len(), sha256 })
}
