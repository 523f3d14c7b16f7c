//! The newest signed release of each policy that the node has accepted: an older one passes only if an operator says so.
//!
//! Each is a file beside the node's copies, `NAME.release`, with the version and the digest. It outlasts the copies, so that
//! unloading a policy does not let an older version pass.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tenure_types::PolicyName;

use super::private::PrivateDirectory;
use super::release::{ReleaseVersion, SignedRelease};

/// A directory of accepted releases.
#[derive(Debug)]
pub(crate) struct AcceptedReleases {
    directory: PrivateDirectory,
    /// Held from reading what was accepted before to writing what is accepted now: two loaders may have two versions of a policy.
    noting: Mutex<()>,
}

impl AcceptedReleases {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory: PrivateDirectory::new(directory), noting: Mutex::new(()) }
    }

    /// Checks that a component's release is not older than the newest that was accepted under its name; `None` is a signature
    /// that names no release.
    pub(crate) fn check(
        &self,
        name: &PolicyName,
        digest: &str,
        release: Option<&SignedRelease>,
    ) -> Result<(), String> {
        let cannot = |error| format!("cannot tell which version of it was accepted before: {error}");
        let Some((newest, accepted)) = self.newest(name).map_err(cannot)? else { return Ok(()) };
        let Some(SignedRelease { version, .. }) = release else {
            return Err(format!(
                "its signature names no version, but version {newest} of policy {name} was accepted here before"
            ));
        };
        if *version < newest {
            return Err(format!("it is version {version}, and version {newest} was accepted here before"));
        }
        if *version == newest && accepted != digest {
            return Err(format!("another component was accepted here as version {version} before"));
        }
        Ok(())
    }

    /// Notes that a release was accepted; durable when this returns. An older one than before changes nothing. Nor does any where the one before
    /// cannot be read, since it may be newer.
    pub(crate) fn note(&self, name: &PolicyName, digest: &str, version: &ReleaseVersion) -> io::Result<()> {
        let _one_at_a_time = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.newest(name)? {
            Some((newest, _)) if *version <= newest => Ok(()),
            _ => self.directory.write(&file_name(name), format!("{version} {digest}\n").as_bytes()),
        }
    }

    /// The newest release that was accepted under a name, and the digest of its component.
    fn newest(&self, name: &PolicyName) -> io::Result<Option<(ReleaseVersion, String)>> {
        let bytes = match self.directory.read(&file_name(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", file_name(name)));
        let (version, digest) = text.trim_end().split_once(' ').ok_or_else(damaged)?;
        Ok(Some((version.parse().map_err(|_| damaged())?, digest.to_owned())))
    }
}

fn file_name(name: &PolicyName) -> String {
    format!("{name}.release")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_what_was_accepted_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let accepted = || AcceptedReleases::new(directory.path().join("policies"));
        let name = |name: &str| PolicyName::new(name).unwrap();
        let release =
            |version: &str| SignedRelease { policy: name("zones"), version: version.parse().unwrap() };
        let check = |digest: &str, version: &str| {
            let release = (!version.is_empty()).then(|| release(version));
            accepted().check(&name("zones"), digest, release.as_ref())
        };
        assert_eq!((check("aa", "1.0"), check("aa", "")), (Ok(()), Ok(())), "nothing was accepted yet");
        accepted().note(&name("zones"), "bb", &release("1.2").version).unwrap();
        assert_eq!((check("cc", "1.3"), check("bb", "1.2.0")), (Ok(()), Ok(())));
        assert!(check("aa", "1.1").unwrap_err().contains("version 1.2 was accepted"));
        assert!(check("cc", "1.2").unwrap_err().contains("another component"));
        assert!(check("aa", "").unwrap_err().contains("names no version"));
        assert_eq!(accepted().check(&name("other"), "aa", None), Ok(()));
        // What an operator insisted on does not lower it.
        accepted().note(&name("zones"), "aa", &release("1.1").version).unwrap();
        assert!(check("aa", "1.1").is_err());
        std::fs::write(directory.path().join("policies/zones.release"), "x").unwrap();
        assert!(check("cc", "1.3").unwrap_err().contains("zones.release is damaged"));
        // Nor does what is loaded already, or else an older version would pass from then on.
        assert!(accepted().note(&name("zones"), "aa", &release("1.0").version).is_err());
        assert!(check("cc", "1.3").unwrap_err().contains("zones.release is damaged"));
    }
}
