//! The witness of agents' claims: `<run-dir>/claims-seen` names every claim that was acknowledged in this boot, with its addresses.
//!
//! It outlives the state directory. A lost state is confirmed for pods: an agent on the host still uses its addresses then,
//! and no runtime knows. So a confirmed state begins with the claims of this file, which are
//! [restored](tenure_engine::Engine::await_claims) before a pod can get one of their addresses.
//!
//! It is next to the [mark](crate::state_seen) and lives exactly as long: a reboot takes an agent's addresses from the kernel, and an
//! agent asks before it uses one again. For the same reason it need not be synced.
//!
//! The first line has the claims as they were when the file was last replaced; each other one is a change since. So a change costs as
//! much as it changes, in the time in which every request waits for the disk. When there are more changes than claims, the file is
//! replaced. A last line that does not end was not acknowledged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use serde::{Deserialize, Serialize};
use tenure_engine::{Engine, WitnessedChange, WitnessedClaim, WitnessedClaims};
use tenure_ledger::{ClaimKey, Claimant};
use tenure_types::{AgentName, BootId, ClaimName, HolderName, NetworkName, ScopeName, hold};

/// The file's name in the run directory.
pub(crate) const NAME: &str = "claims-seen";

/// The most changes in the file beyond twice the number of claims.
const SPARE_CHANGES: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
struct StoredClaims {
    boot: String,
    claims: Vec<SeenClaim>,
}

/// A line behind the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeenChange {
    Claim(SeenClaim),
    Ended(SeenKey),
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenKey {
    agent: String,
    network: String,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenClaim {
    #[serde(flatten)]
    key: SeenKey,
    addresses: Vec<IpAddr>,
    /// Whether it is to be restored.
    #[serde(default)]
    awaited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<HolderName>,
}

impl SeenKey {
    fn of(key: &ClaimKey) -> Self {
        let ClaimKey { agent, network, name } = key;
        Self { agent: agent.to_string(), network: network.to_string(), name: name.to_string() }
    }

    fn read(&self) -> Option<ClaimKey> {
        Some(ClaimKey {
            agent: AgentName::new(&self.agent).ok()?,
            network: NetworkName::new(&self.network).ok()?,
            name: ClaimName::new(&self.name).ok()?,
        })
    }
}

impl SeenClaim {
    fn of(claim: &WitnessedClaim) -> Self {
        Self {
            key: SeenKey::of(&claim.key),
            addresses: claim.addresses.clone(),
            awaited: claim.is_awaited,
            scope: claim.claimant.scope.clone(),
            holder: claim.claimant.holder.clone(),
        }
    }

    fn read(self) -> Option<WitnessedClaim> {
        let key = self.key.read()?;
        let claimant = Claimant { scope: self.scope, holder: self.holder };
        Some(WitnessedClaim { key, addresses: self.addresses, is_awaited: self.awaited, claimant })
    }
}

impl SeenChange {
    fn of(change: &WitnessedChange) -> Self {
        match change {
            WitnessedChange::Present(claim) => Self::Claim(SeenClaim::of(claim)),
            WitnessedChange::Ended(key) => Self::Ended(SeenKey::of(key)),
        }
    }
}

/// Writes the file.
#[derive(Debug)]
pub(crate) struct ClaimsSeen {
    path: PathBuf,
    boot: BootId,
    engine: Weak<Engine>,
    /// The content of the file; `None` if it has to be replaced. Held while it is written.
    written: Mutex<Option<WrittenClaims>>,
}

/// The content of the file.
#[derive(Debug)]
struct WrittenClaims {
    file: File,
    version: (u64, u64),
    claims: WitnessedClaims,
    /// The number of changes in the file.
    changes: usize,
}

/// The claims of this boot; `None` if they are not known, because the file is missing or cannot be read.
pub(crate) fn read(run_dir: &Path, boot: &BootId) -> Option<Vec<WitnessedClaim>> {
    let text = fs::read_to_string(run_dir.join(NAME)).ok()?;
    let (first, changes) = text.split_once('\n').unwrap_or((&text, ""));
    let stored: StoredClaims = serde_json::from_str(first).ok()?;
    if stored.boot != boot.0 {
        return None;
    }
    let mut claims = BTreeMap::new();
    for claim in stored.claims {
        let claim = claim.read()?;
        claims.insert(claim.key.clone(), claim);
    }
    for line in changes.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match serde_json::from_str(line).ok()? {
            SeenChange::Claim(claim) => {
                let claim = claim.read()?;
                claims.insert(claim.key.clone(), claim);
            }
            SeenChange::Ended(key) => _ = claims.remove(&key.read()?),
        }
    }
    Some(claims.into_values().collect())
}

impl ClaimsSeen {
    pub(crate) fn new(run_dir: &Path, boot: &BootId, engine: &Arc<Engine>) -> Self {
        let (path, boot, engine) = (run_dir.join(NAME), boot.clone(), Arc::downgrade(engine));
        Self { path, boot, engine, written: Mutex::default() }
    }

    /// Brings the file in line with the claims, unless it is.
    ///
    /// # Errors
    /// If it cannot be written; the next call then replaces it.
    pub(crate) fn record(&self) -> io::Result<()> {
        let Some(engine) = self.engine.upgrade() else { return Ok(()) };
        let mut written = hold(&self.written);
        // What changes after this is written the next time.
        let version = engine.witnessed_version();
        let is_current =
            |written: &WrittenClaims| written.version == version && self.is_in_place(&written.file);
        if written.as_ref().is_some_and(is_current) {
            return Ok(());
        }
        let before = written.take().filter(|written| self.is_in_place(&written.file));
        let (file, mut claims, changes) = match before {
            Some(WrittenClaims { file, claims, changes, .. }) => (Some(file), claims, changes),
            None => (None, WitnessedClaims::default(), 0),
        };
        let news = engine.follow_claims(&mut claims);
        let changes = changes + news.len();
        let most = 2 * claims.iter().len() + SPARE_CHANGES;
        *written = Some(match file.filter(|_| changes <= most) {
            Some(mut file) => {
                file.write_all(&lines(&news)?)?;
                WrittenClaims { file, version, claims, changes }
            }
            None => WrittenClaims { file: self.replace(&claims)?, version, claims, changes: 0 },
        });
        Ok(())
    }

    /// Removes a file that could not be brought in line: a missing one says nothing, an outdated one that later claims are over.
    pub(crate) fn forget(&self) {
        // The directory may be gone, or read-only.
        let _ = fs::remove_file(&self.path);
    }

    /// Whether a file is still the one that a start would read.
    fn is_in_place(&self, file: &File) -> bool {
        let id = |metadata: io::Result<fs::Metadata>| metadata.map(|of| (of.dev(), of.ino())).ok();
        id(file.metadata()).is_some_and(|written| id(fs::metadata(&self.path)) == Some(written))
    }

    /// Replaces the file; returns it, for further changes.
    fn replace(&self, claims: &WitnessedClaims) -> io::Result<File> {
        let claims = claims.iter().map(SeenClaim::of).collect();
        let mut bytes = serde_json::to_vec(&StoredClaims { boot: self.boot.0.clone(), claims })?;
        bytes.push(b'\n');
        let draft = self.path.with_extension("tmp");
        let mut file = File::create(&draft)?;
        file.write_all(&bytes)?;
        fs::rename(draft, &self.path)?;
        Ok(file)
    }
}

/// The changes as lines.
fn lines(changes: &[WitnessedChange]) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for change in changes {
        serde_json::to_writer(&mut bytes, &SeenChange::of(change))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_file_of_this_boot_is_believed() {
        let directory = tempfile::tempdir().unwrap();
        let boot = BootId("a".into());
        let read = |text: &str| {
            fs::write(directory.path().join(NAME), text).unwrap();
            read(directory.path(), &boot)
        };
        assert_eq!(super::read(directory.path(), &boot), None, "there is none");
        let one = r#"{"boot":"a","claims":[{"agent":"cilium","network":"pods","name":"router","addresses":["10.0.0.2"]}]}"#;
        let claims = read(one).unwrap();
        assert_eq!((claims.len(), claims[0].is_awaited), (1, false));
        assert_eq!(claims[0].key.to_string(), "claim router of cilium on network pods");
        assert_eq!(claims[0].claimant, Claimant::default(), "written before there were scopes");
        let scoped = one.replace("\"router\"", "\"router\",\"scope\":\"bgp\",\"holder\":\"pod-1\"");
        let claimant = read(&scoped).unwrap().remove(0).claimant;
        assert_eq!(claimant.scope.map(|scope| scope.to_string()), Some("bgp".to_owned()));
        assert_eq!(claimant.holder.map(|holder| holder.to_string()), Some("pod-1".to_owned()));
        assert_eq!(read(r#"{"boot":"a","claims":[]}"#), Some(Vec::new()));
        for text in
            ["", "{}", &one[..one.len() - 1], &one.replace("\"a\"", "\"b\""), &one.replace("router", "/")]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
    #[test]
    fn changes_follow_the_first_line_and_one_that_does_not_end_was_never_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let boot = BootId("a".into());
        let claim = |name: &str, last: u8| WitnessedClaim {
            key: ClaimKey {
                agent: AgentName::new("cilium").unwrap(),
                network: NetworkName::new("pods").unwrap(),
                name: ClaimName::new(name).unwrap(),
            },
            addresses: vec![IpAddr::from([10, 0, 0, last])],
            is_awaited: false,
            claimant: Claimant::default(),
        };
        let [one, other, third] = [claim("one", 1), claim("other", 2), claim("third", 3)];
        let claims = [&one, &other].map(SeenClaim::of).into();
        let first = serde_json::to_string(&StoredClaims { boot: "a".to_owned(), claims }).unwrap();
        let changes = lines(&[
            WitnessedChange::Ended(one.key.clone()),
            WitnessedChange::Present(third.clone()),
            WitnessedChange::Present(claim("other", 7)),
        ]);
        let whole = format!("{first}\n{}", String::from_utf8(changes.unwrap()).unwrap());
        let read = |text: &str| {
            fs::write(directory.path().join(NAME), text).unwrap();
            read(directory.path(), &boot)
        };
        assert_eq!(read(&format!("{first}\n")), Some(vec![one, other]));
        assert_eq!(read(&whole), Some(vec![claim("other", 7), third.clone()]));
        let torn = whole.trim_end();
        assert_eq!(read(torn), Some(vec![claim("other", 2), third]), "the last change is not acknowledged");
        assert_eq!(read(&format!("{whole}nonsense\n")), None);
    }
}
