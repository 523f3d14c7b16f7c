//! The paths of a node, which may be below another root than this program's.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The number of links in a path that are followed, as by the kernel.
const MOST_LINKS: usize = 40;

/// The root of a node's files.
pub(super) struct NodePaths {
    root: PathBuf,
}

/// A path on a node.
#[derive(Debug, Clone)]
pub(super) struct Location {
    /// As the node's own programs name it.
    pub(super) named: PathBuf,
    /// As this program opens it.
    pub(super) real: PathBuf,
}

impl NodePaths {
    /// The paths of a node whose root is this directory.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The place of a path.
    pub(super) fn at(&self, path: &Path) -> Location {
        // A relative path is one of the working directory, as everywhere else.
        let named = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let real = match self.root == Path::new("/") {
            true => named.clone(),
            false => self.inside(&named),
        };
        Location { named, real }
    }

    /// Follows the links of a path as the node does: the kernel would follow an absolute one to a place of this program's own root.
    fn inside(&self, named: &Path) -> PathBuf {
        let (mut left, mut reached, mut links) = (steps(named), PathBuf::new(), 0);
        while let Some(next) = left.pop() {
            if next == ".." {
                reached.pop();
                continue;
            }
            let here = reached.join(next);
            match fs::read_link(self.root.join(&here)) {
                Ok(target) if links < MOST_LINKS => {
                    links += 1;
                    if target.is_absolute() {
                        reached = PathBuf::new();
                    }
                    left.extend(steps(&target));
                }
                _ => reached = here,
            }
        }
        self.root.join(reached)
    }

    /// The text of a file, such as one of the kernel's; `None` if it cannot be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.at(Path::new(path)).real).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// The mount that a path is on.
    pub(super) fn mount(&self, path: &Location) -> Option<MountPoint> {
        let mounts = self.text("/proc/self/mountinfo")?;
        let named = self.resolved(path);
        // Of several on one directory, the last covers the others.
        let on = mounts.lines().filter_map(MountPoint::parse).filter(|mount| named.starts_with(&mount.point));
        on.max_by_key(|mount| mount.point.components().count())
    }

    /// The path without symbolic links, as far as it exists; below another root, they cannot be resolved.
    fn resolved(&self, path: &Location) -> PathBuf {
        if self.root != Path::new("/") {
            return path.named.clone();
        }
        let existing = path.named.ancestors().find_map(|above| {
            let rest = path.named.strip_prefix(above).ok()?;
            Some(fs::canonicalize(above).ok()?.join(rest))
        });
        existing.unwrap_or_else(|| path.named.clone())
    }
}

/// The names in a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(step).collect()
}

/// A mounted file system.
#[derive(Debug, PartialEq)]
pub(super) struct MountPoint {
    pub(super) point: PathBuf,
    pub(super) kind: String,
    pub(super) is_read_only: bool,
}

impl MountPoint {
    /// Reads a line of `mountinfo`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(4);
        let (point, options) = (fields.next()?, fields.next()?);
        let is_read_only = options.split(',').any(|option| option == "ro");
        let kind = after.split(' ').next()?.to_owned();
        // The kernel writes these characters of a name as octal numbers.
        let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\");
        Some(Self { point: point.into(), kind, is_read_only })
    }
}
