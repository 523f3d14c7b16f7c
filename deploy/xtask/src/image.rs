//! Container images without a container tool: each is an OCI layout, with its bill of materials and its provenance beside it.
//!
//! ```text
//!   programs (of each platform) ─▶ root (files of an image, with the libraries they need) ─▶ layer (tar, gzip) ─▶ layout (blobs, manifests, index)
//!                                                                                                           └─▶ materials, provenance
//! ```
//!
//! The same programs give the same bytes. The test run packs the development build twice, compares, reads the layout back, and starts the programs in
//! a root that has nothing else.

mod development;
mod elf;
mod layer;
mod layout;
mod libraries;
mod materials;
mod platform;
mod programs;
mod provenance;
mod root;
mod started;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use flate2::Compression;

use crate::command::{output, run};
use crate::workspace::Workspace;
use layout::{PackedImage, WrittenImage};
use platform::Platform;
use programs::ProgramSource;
use root::ImageRoot;

pub(crate) use development::{development, workload};
pub(crate) use layout::TAG;

/// The most bytes of an image's compressed layers.
const LIMIT: u64 = 60_000_000;

/// The user of the operator: `nonroot` of many images, and nobody's on a node.
const OPERATOR_USER: u32 = 65532;

/// The images, each with its programs.
const IMAGES: [(&str, &[&str]); 2] =
    [("tenure", &["tenured", "tenurectl", "tenure"]), ("tenure-operator", &["tenure-operator"])];

/// Which images are written, and for which platforms.
#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    /// Only pack the development build, twice, and check the result, as the test run does
    #[arg(long)]
    check: bool,
    /// The platforms, separated by commas; by default this machine's. Others are cross compiled
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',', value_enum)]
    platform: Vec<Platform>,
    /// Only this image
    #[arg(long, value_name = "IMAGE", value_parser = ["tenure", "tenure-operator"])]
    only: Option<String>,
}

impl ImageArguments {
    fn platforms(&self) -> Result<Vec<Platform>> {
        Ok(if self.platform.is_empty() { vec![Platform::native()?] } else { self.platform.clone() })
    }

    fn is_wanted(&self, image: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == image)
    }

    /// The programs of the images.
    fn programs(&self) -> Vec<&'static str> {
        let images = IMAGES.into_iter().filter(|(image, _)| self.is_wanted(image));
        images.flat_map(|(_, programs)| programs).copied().collect()
    }
}

/// Writes images: of the release to `image` in the target folder, or, for a check, of the development build.
///
/// # Errors
/// If something does not build, an image is too large, or its programs do not start.
pub(crate) fn image(workspace: &Workspace, arguments: &ImageArguments) -> Result<()> {
    if arguments.check { check(workspace, arguments) } else { release(workspace, arguments) }
}

/// Builds the release programs, and writes the images.
fn release(workspace: &Workspace, arguments: &ImageArguments) -> Result<()> {
    let programs = arguments.programs();
    let source = |platform: Platform| ProgramSource::release(workspace, platform, &programs);
    let sources = arguments.platforms()?.into_iter().map(source).collect::<Result<Vec<_>>>()?;
    let to = workspace.target.join("image");
    for written in write(workspace, arguments, &sources, Compression::best(), &to)? {
        written.check_size(LIMIT)?;
        println!("{}\n  {}", written.name, written.digest);
        for (platform, size) in &written.sizes {
            started::check(&to.join(&written.name), &written.name, *platform)?;
            println!("  {platform}: {size} bytes in layers, of at most {LIMIT}");
        }
        println!(
            "  skopeo copy --all oci:{}:{} docker://REGISTRY/{}:{}",
            to.join(&written.name).display(),
            written.tag,
            written.name,
            written.tag
        );
    }
    Ok(())
}

/// Packs the development build twice, without the tables of its symbols, and examines the result: the two must not differ, and the programs
/// must start. For this machine's platform the build is there; for others it is made.
fn check(workspace: &Workspace, arguments: &ImageArguments) -> Result<()> {
    let folder = workspace.target.join("image-test");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let programs = arguments.programs();
    let source = |platform: Platform| {
        let to = folder.join("programs").join(platform.architecture());
        ProgramSource::development(workspace, platform, &programs, to)
    };
    let sources = arguments.platforms()?.into_iter().map(source).collect::<Result<Vec<_>>>()?;
    let (once, again) = (folder.join("once"), folder.join("again"));
    let first = write(workspace, arguments, &sources, Compression::default(), &once)?;
    let second = write(workspace, arguments, &sources, Compression::default(), &again)?;
    ensure!(first == second, "the same programs gave other images: {first:?} and {second:?}");
    run(Command::new("diff").args(["--recursive", "--brief"]).arg(&once).arg(&again))?;
    for written in &first {
        // Even without optimisation.
        written.check_size(LIMIT)?;
        layout::check(&once.join(&written.name))?;
        for (platform, size) in &written.sizes {
            started::check(&once.join(&written.name), &written.name, *platform)?;
            println!("{} for {platform}: {size} bytes in layers, twice the same", written.name);
        }
    }
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

/// Writes the images, each in a folder of its name, and the documents beside them.
fn write(
    workspace: &Workspace,
    arguments: &ImageArguments,
    sources: &[ProgramSource],
    compression: Compression,
    to: &Path,
) -> Result<Vec<WrittenImage>> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    let revision = output(Command::new("git").arg("-C").arg(&workspace.root).args(["rev-parse", "HEAD"]))?;
    let mut images = Vec::new();
    if arguments.is_wanted("tenure") {
        images.push(agent(sources, compression)?);
    }
    if arguments.is_wanted("tenure-operator") {
        images.push(operator(sources, compression)?);
    }
    let mut written = Vec::new();
    for (image, packages) in images {
        let one = layout::write(&image, revision.trim(), &to.join(&image.name))?;
        for source in sources {
            let materials = materials::of(workspace, &image.name, packages, source.platform)?;
            let name = format!("{}.{}.cdx.json", image.name, source.platform.architecture());
            fs::write(to.join(name), materials)?;
        }
        let statement = provenance::of(workspace, &one, revision.trim())?;
        fs::write(to.join(format!("{}.intoto.json", image.name)), statement)?;
        written.push(one);
    }
    Ok(written)
}

/// The image of a node: the daemon, the plugin and `tenurectl`.
fn agent(
    sources: &[ProgramSource],
    compression: Compression,
) -> Result<(PackedImage, &'static [&'static str])> {
    let root = |source: &ProgramSource| {
        let mut root = ImageRoot::new(source.platform)?;
        root.program(&source.folder.join("tenured"), "usr/local/bin/tenured")?;
        root.program(&source.folder.join("tenurectl"), "usr/local/bin/tenurectl")?;
        root.program(&source.folder.join("tenure"), "usr/local/bin/tenure")?;
        root.certificates()?;
        // The daemon has it manage translation on a node with cloud interfaces.
        root.program_if_installed("nft", "usr/sbin/nft")?;
        Ok(root)
    };
    let image = PackedImage {
        name: "tenure".to_owned(),
        tag: TAG.to_owned(),
        description: "The IP address manager of a node: daemon, CNI plugin and command line".to_owned(),
        user: 0,
        command: "/usr/local/bin/tenured".to_owned(),
        roots: sources.iter().map(root).collect::<Result<_>>()?,
        compression,
    };
    Ok((image, &["tenure-daemon", "tenure-ctl", "tenure-cni"]))
}

/// The image of the operator.
fn operator(
    sources: &[ProgramSource],
    compression: Compression,
) -> Result<(PackedImage, &'static [&'static str])> {
    let root = |source: &ProgramSource| {
        let mut root = ImageRoot::new(source.platform)?;
        root.program(&source.folder.join("tenure-operator"), "usr/local/bin/tenure-operator")?;
        Ok(root)
    };
    let image = PackedImage {
        name: "tenure-operator".to_owned(),
        tag: TAG.to_owned(),
        description: "Leases blocks of addresses to the nodes of a cluster".to_owned(),
        user: OPERATOR_USER,
        command: "/usr/local/bin/tenure-operator".to_owned(),
        roots: sources.iter().map(root).collect::<Result<_>>()?,
        compression,
    };
    Ok((image, &["tenure-operator"]))
}
