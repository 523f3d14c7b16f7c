//! Container images without a container tool: each is an OCI layout, with its bill of materials and its provenance beside it.
//!
//! ```text
//!   dist (release programs) ─▶ root (files of an image, with the libraries they need) ─▶ layer (tar, gzip) ─▶ layout (blobs, manifest, index)
//!                                                                                                       └─▶ materials, provenance
//! ```
//!
//! The same programs give the same bytes. The test run packs the development build twice, compares, reads the layout back, and starts the programs in
//! a root that has nothing else.

mod development;
mod layer;
mod layout;
mod materials;
mod provenance;
mod root;
mod started;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;

use crate::command::{output, run};
use crate::dist;
use crate::workspace::Workspace;
use layout::{PackedImage, WrittenImage};
use root::ImageRoot;

pub(crate) use development::{development, workload};
pub(crate) use layout::TAG;

/// The most bytes of an image's compressed layers.
const LIMIT: u64 = 60_000_000;

/// The user of the operator: `nonroot` of many images, and nobody's on a node.
const OPERATOR_USER: u32 = 65532;

/// The programs that the images are made of.
struct ProgramSource<'a> {
    workspace: &'a Workspace,
    /// The folder of `tenured`, `tenurectl` and `tenure-operator`.
    folder: PathBuf,
    /// The plugin, which is static.
    plugin: PathBuf,
    tag: &'a str,
    compression: Compression,
}

impl<'a> ProgramSource<'a> {
    /// The programs of the development build, without the tables of their symbols.
    fn stripped(workspace: &'a Workspace, programs: &[&str], folder: PathBuf) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        for name in programs {
            let (from, to) = (workspace.binaries().join(name), folder.join(name));
            run(Command::new("strip").arg("-o").arg(&to).arg(from))?;
        }
        let plugin = folder.join("tenure");
        Ok(Self { workspace, folder, plugin, tag: TAG, compression: Compression::fast() })
    }
}

/// Builds the release files and the operator, and writes both images to `image` in the target folder.
///
/// # Errors
/// If something does not build, an image is too large, or its programs do not start.
pub(crate) fn image(workspace: &Workspace) -> Result<()> {
    dist::dist(workspace)?;
    run(workspace.cargo().args(["build", "--release", "--package", "tenure-operator"]))?;
    let dist = workspace.target.join("dist");
    fs::copy(workspace.target.join("release/tenure-operator"), dist.join("tenure-operator"))?;
    let source = ProgramSource {
        workspace,
        plugin: dist.join("tenure"),
        folder: dist,
        tag: TAG,
        compression: Compression::best(),
    };
    let to = workspace.target.join("image");
    for written in write(&source, &to)? {
        written.check_size(LIMIT)?;
        started::check(&to.join(&written.name), &written.name)?;
        println!(
            "{}\n  {} bytes in layers, {}\n  skopeo copy --all oci:{}:{} docker://REGISTRY/{}:{}",
            written.name,
            written.size,
            written.digest,
            to.join(&written.name).display(),
            written.tag,
            written.name,
            written.tag
        );
    }
    Ok(())
}

/// Packs the development build twice, without the tables of its symbols, and examines the result.
///
/// # Errors
/// If the two differ, or the layout is wrong, or a program does not start in it.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join("image-test");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let programs = ["tenured", "tenurectl", "tenure-operator", "tenure"];
    let source = ProgramSource::stripped(workspace, &programs, folder.join("programs"))?;
    let (once, again) = (folder.join("once"), folder.join("again"));
    let (first, second) = (write(&source, &once)?, write(&source, &again)?);
    ensure!(first == second, "the same programs gave other images: {first:?} and {second:?}");
    run(Command::new("diff").args(["--recursive", "--brief"]).arg(&once).arg(&again))?;
    for written in &first {
        // Even without optimisation.
        written.check_size(LIMIT)?;
        layout::check(&once.join(&written.name))?;
        started::check(&once.join(&written.name), &written.name)?;
        println!("{}: {} bytes in layers, twice the same", written.name, written.size);
    }
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Writes both images, each in a folder of its name, and the documents beside them.
fn write(source: &ProgramSource<'_>, to: &Path) -> Result<Vec<WrittenImage>> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    let revision =
        output(Command::new("git").arg("-C").arg(&source.workspace.root).args(["rev-parse", "HEAD"]))?;
    let images = [agent(source)?, operator(source)?];
    let mut written = Vec::new();
    for (image, packages) in images {
        let one = layout::write(&image, revision.trim(), &to.join(&image.name))?;
        let materials = materials::of(source.workspace, &image.name, packages)?;
        fs::write(to.join(format!("{}.cdx.json", image.name)), materials)?;
        let statement = provenance::of(source.workspace, &one, revision.trim())?;
        fs::write(to.join(format!("{}.intoto.json", image.name)), statement)?;
        written.push(one);
    }
    Ok(written)
}

/// The image of a node: the daemon, the plugin and `tenurectl`.
fn agent(source: &ProgramSource<'_>) -> Result<(PackedImage, &'static [&'static str])> {
    let mut root = ImageRoot::new()?;
    root.program(&source.folder.join("tenured"), "usr/local/bin/tenured")?;
    root.program(&source.folder.join("tenurectl"), "usr/local/bin/tenurectl")?;
    root.program(&source.plugin, "usr/local/bin/tenure")?;
    // The daemon has it manage translation on a node with cloud interfaces.
    root.program_if_installed("nft", "usr/sbin/nft")?;
    let image = PackedImage {
        name: "tenure".to_owned(),
        tag: source.tag.to_owned(),
        description: "The IP address manager of a node: daemon, CNI plugin and command line".to_owned(),
        user: 0,
        command: "/usr/local/bin/tenured".to_owned(),
        root,
        compression: source.compression,
    };
    Ok((image, &["tenure-daemon", "tenure-ctl", "tenure-cni"]))
}

/// The image of the operator.
fn operator(source: &ProgramSource<'_>) -> Result<(PackedImage, &'static [&'static str])> {
    let mut root = ImageRoot::new()?;
    root.program(&source.folder.join("tenure-operator"), "usr/local/bin/tenure-operator")?;
    let image = PackedImage {
        name: "tenure-operator".to_owned(),
        tag: source.tag.to_owned(),
        description: "Leases blocks of addresses to the nodes of a cluster".to_owned(),
        user: OPERATOR_USER,
        command: "/usr/local/bin/tenure-operator".to_owned(),
        root,
        compression: source.compression,
    };
    Ok((image, &["tenure-operator"]))
}
