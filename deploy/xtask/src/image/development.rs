//! Images for the demonstration on Kubernetes: tenure's from the development build, and one of a program that does nothing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Compression;

use super::layout::{self, PackedImage};
use super::platform::Platform;
use super::programs::ProgramSource;
use super::root::ImageRoot;
use super::{agent, operator};
use crate::dist;
use crate::workspace::Workspace;

/// No commit: these images are of what was just built.
const REVISION: &str = "development";

/// Writes the image of a node from the development build, once with each tag, and the operator's; returns the folders of the layouts.
///
/// # Errors
/// If a program is missing, or a file cannot be written.
pub(crate) fn development(workspace: &Workspace, folder: &Path, tags: &[&str]) -> Result<Vec<PathBuf>> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let programs = ["tenured", "tenurectl", "tenure", "tenure-operator"];
    let native = Platform::native()?;
    let source = ProgramSource::development(workspace, native, &programs, folder.join("programs"))?;
    let sources = [source];
    let (mut image, _) = agent(&sources, Compression::none())?;
    let (operator, _) = operator(&sources, Compression::none())?;
    let mut layouts = vec![folder.join(&operator.name)];
    layout::write(&operator, REVISION, &folder.join(&operator.name))?;
    for tag in tags {
        let to = folder.join(tag);
        image.tag = (*tag).to_owned();
        layout::write(&image, REVISION, &to)?;
        layouts.push(to);
    }
    Ok(layouts)
}

/// Builds the program of workloads and sandboxes, and writes its image under a name such as `localhost/name:tag`.
///
/// # Errors
/// If it does not build, or a file cannot be written.
pub(crate) fn workload(workspace: &Workspace, folder: &Path, name: &str) -> Result<PathBuf> {
    const PROGRAM: &str = "tenure-workload";
    let program = dist::static_program(workspace, "tenure-fixtures", PROGRAM)?;
    let (name, tag) =
        name.trim_start_matches("localhost/").split_once(':').context("the image has no tag")?;
    let mut root = ImageRoot::new(Platform::native()?)?;
    root.program(&program, &format!("usr/local/bin/{PROGRAM}"))?;
    let image = PackedImage {
        name: name.to_owned(),
        tag: tag.to_owned(),
        description: "The workloads of the demonstration".to_owned(),
        user: 65534,
        command: format!("/usr/local/bin/{PROGRAM}"),
        roots: vec![root],
        compression: Compression::none(),
    };
    let to = folder.join(name);
    layout::write(&image, REVISION, &to)?;
    Ok(to)
}
