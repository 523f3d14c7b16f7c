//! Network namespaces by path: recording where one was seen, and determining later whether it is gone.
//!
//! The plugin has the runtime's view of the node, and the daemon may have another one, with other mounts and process
//! ids. So a namespace counts as seen only if its path leads the daemon to the same namespace as the plugin, and as
//! gone only if the daemon still sees the place where it saw it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tenure_types::Place;

use crate::WitnessVerdict;

/// Returns the place at which the daemon sees the namespace that the plugin was called with, if it does: `told` is the namespace at the
/// plugin's path. An older plugin does not report it; then it is unknown whether both see the same namespace.
#[must_use]
pub fn see(path: &str, told: Option<Place>) -> Option<Place> {
    let path = Path::new(path);
    if !path.is_absolute() || told.is_none() || identity(path) != told {
        return None;
    }
    place(path)
}

/// The state of a namespace that was last seen at `seen`, or never.
#[must_use]
pub(crate) fn look(path: &str, seen: Option<Place>) -> WitnessVerdict {
    let path = Path::new(path);
    let Some(seen) = seen else { return WitnessVerdict::Unknown };
    match fs::symlink_metadata(path) {
        Ok(_) => WitnessVerdict::Present,
        Err(error) if error.kind() == ErrorKind::NotFound && place(path) == Some(seen) => {
            WitnessVerdict::Absent
        }
        Err(_) => WitnessVerdict::Unknown,
    }
}

/// The place of a path's last name: its directory, or for a process its PID namespace, since its directory disappears
/// when it ends.
fn place(path: &Path) -> Option<Place> {
    if !path.starts_with("/proc") {
        return identity(path.parent()?);
    }
    // Each mount of `/proc` may show other processes.
    let device = fs::metadata("/proc").ok()?.dev();
    Some(Place { device, ..identity(Path::new("/proc/self/ns/pid"))? })
}

fn identity(path: &Path) -> Option<Place> {
    let metadata = fs::metadata(path).ok()?;
    Place::new(metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sees a path for a plugin that sees there what we see at `really`.
    fn seen(path: &Path, really: &Path) -> Option<Place> {
        see(path.to_str().unwrap(), identity(really))
    }

    #[test]
    fn what_was_seen_is_there_and_then_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cni-1");
        fs::write(&path, "").unwrap();
        let seen = seen(&path, &path);
        assert!(seen.is_some());
        let now = || look(path.to_str().unwrap(), seen);
        assert_eq!(now(), WitnessVerdict::Present);
        fs::remove_file(&path).unwrap();
        assert_eq!(now(), WitnessVerdict::Absent);
        // The directory in which it was seen is out of sight, and then another one is in its place.
        let away = directory.path().with_extension("away");
        fs::rename(directory.path(), &away).unwrap();
        assert_eq!(now(), WitnessVerdict::Unknown);
        fs::create_dir(directory.path()).unwrap();
        assert_eq!(now(), WitnessVerdict::Unknown);
        fs::remove_dir_all(away).unwrap();
    }

    #[test]
    fn what_the_plugin_sees_elsewhere_is_not_seen() {
        let directory = tempfile::tempdir().unwrap();
        let [ours, theirs, nowhere] = ["ours", "theirs", "nowhere"].map(|name| directory.path().join(name));
        fs::write(&ours, "").unwrap();
        fs::write(&theirs, "").unwrap();
        for (path, really) in [(&ours, &theirs), (&nowhere, &ours), (&ours, &nowhere)] {
            assert_eq!(seen(path, really), None, "{} for {}", path.display(), really.display());
        }
        assert_eq!(seen(Path::new("ours"), &ours), None);
        assert_eq!(see("", identity(&ours)), None);
        assert_eq!(look(nowhere.to_str().unwrap(), None), WitnessVerdict::Unknown, "it was never there");
        assert_eq!(look(ours.to_str().unwrap(), None), WitnessVerdict::Unknown);
    }

    #[test]
    fn a_process_is_gone_from_the_namespace_that_it_was_seen_in() {
        let own = Path::new("/proc/self/ns/net");
        let seen = seen(own, own);
        assert!(seen.is_some());
        assert_eq!(look("/proc/self/ns/net", seen), WitnessVerdict::Present);
        assert_eq!(look("/proc/4194305/ns/net", seen), WitnessVerdict::Absent, "no process id is that high");
        let elsewhere = seen.and_then(|seen| Place::new(seen.device, seen.inode.get() + 1));
        assert_eq!(look("/proc/4194305/ns/net", elsewhere), WitnessVerdict::Unknown);
    }
}
