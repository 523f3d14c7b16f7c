//! The images of the demonstration: tenure's, packed as for a release, and the one of all its other containers.

use std::fs::File;
use std::path::Path;

use anyhow::Result;

use super::machine::SHARED;
use super::node::KubernetesNode;
use super::workloads::WORKLOAD;
use crate::image;
use crate::workspace::Workspace;

/// The tag to which the demonstration upgrades.
pub(super) const UPGRADE: &str = "upgrade";

/// Packs the images and imports them into containerd.
///
/// # Errors
/// When something does not build, or containerd refuses an image.
pub(super) fn load(workspace: &Workspace, node: &KubernetesNode<'_>) -> Result<()> {
    let folder = workspace.target.join("demo-images");
    for layout in image::development(workspace, &folder, &[image::TAG, UPGRADE])? {
        import(node, &layout)?;
    }
    import(node, &image::workload(workspace, &folder, WORKLOAD)?)?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Imports an OCI layout, as an archive.
fn import(node: &KubernetesNode<'_>, layout: &Path) -> Result<()> {
    let archive = format!("{SHARED}/image.tar");
    let mut builder = tar::Builder::new(File::create(node.machine.outside(&archive))?);
    builder.append_dir_all("", layout)?;
    builder.finish()?;
    node.ctr(&["images", "import", &archive])?;
    std::fs::remove_file(node.machine.outside(&archive))?;
    Ok(())
}
