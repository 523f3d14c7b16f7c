//! Pools and disks that are full.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use tenure_e2e::Attachment;
use tenure_e2e::mount::{self, Mount};

use crate::enter::{ipam, populated};
use crate::node::Node;

/// A bound on the requests that fill a pool or a disk.
const MOST: usize = 5000;

/// Gives every address of a small pool to a pod.
pub(crate) fn fill(node: &mut Node, more: &str) -> anyhow::Result<Vec<Attachment>> {
    ipam(node, "ranges", json!([[{ "subnet": "10.93.0.0/28" }]]));
    populated(node, more)?;
    let shim = node.daemon.shim()?;
    let mut pods = Vec::new();
    for number in 0..MOST {
        let pod = Attachment::of(format!("fill-{number}"));
        if !shim.call("ADD", &pod, &node.config)?.succeeded {
            return Ok(pods);
        }
        pods.push(pod);
    }
    anyhow::bail!("the pool is never full")
}

/// The file that fills a disk, until it is dropped.
struct Ballast(PathBuf);

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Fills the disk of the state directory, and then the log's reserve.
pub(crate) fn full_disk(node: &mut Node) -> anyhow::Result<()> {
    mount::private_namespace()?;
    let disk = Mount::tmpfs(32 << 20)?;
    ipam(node, "ranges", json!([[{ "subnet": "10.93.0.0/16" }]]));
    fs::create_dir(disk.path("state"))?;
    symlink(disk.path("state"), node.daemon.state_directory())?;
    populated(node, "")?;
    disk.fill("ballast", 0)?;
    node.causes.push(Box::new(Ballast(disk.path("ballast"))));
    node.disks.push(disk);
    let shim = node.daemon.shim()?;
    for number in 0..MOST {
        let pod = Attachment::of(format!("fill-{number}"));
        if !shim.call("ADD", &pod, &node.config)?.succeeded {
            return Ok(());
        }
    }
    anyhow::bail!("the disk is never full")
}
