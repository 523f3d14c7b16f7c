//! The witness of agents' claims: `<run-dir>/claims-seen` names every claim that was acknowledged in this boot, with its addresses.
//!
//! It outlives the state directory. A lost state is confirmed for pods: an agent on the host still uses its addresses then,
//! and no runtime knows. So a confirmed state begins with the claims of this file, which are
//! [restored](tenure_engine::Engine::await_claims) before a pod can get one of their addresses.
//!
//! It is next to the [mark](crate::state_seen) and lives exactly as long: a reboot takes an agent's addresses from the kernel, and an
//! agent asks before it uses one again. For the same reason it need not be synced.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use serde::{Deserialize, Serialize};
use tenure_engine::{Engine, WitnessedClaim};
use tenure_ledger::{ClaimKey, Claimant};
use tenure_types::{AgentName, BootId, ClaimName, HolderName, NetworkName, ScopeName, hold};

const NAME: &str = "claims-seen";

#[derive(Debug, Serialize, Deserialize)]
struct StoredClaims {
    boot: String,
    claims: Vec<SeenClaim>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenClaim {
    agent: String,
    network: String,
    name: String,
    addresses: Vec<IpAddr>,
    /// Whether it is to be restored.
    #[serde(default)]
    awaited: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<HolderName>,
}

/// Writes the file.
#[derive(Debug)]
pub(crate) struct ClaimsSeen {
    path: PathBuf,
    boot: BootId,
    engine: Weak<Engine>,
    /// The version that the file has. Held while it is written.
    written: Mutex<Option<(u64, u64)>>,
}

/// The claims of this boot; `None` if they are not known, because the file is missing or cannot be read.
pub(crate) fn read(run_dir: &Path, boot: &BootId) -> Option<Vec<WitnessedClaim>> {
    let stored: StoredClaims = serde_json::from_slice(&fs::read(run_dir.join(NAME)).ok()?).ok()?;
    let claim = |stored: SeenClaim| {
        let key = ClaimKey {
            agent: AgentName::new(&stored.agent).ok()?,
            network: NetworkName::new(&stored.network).ok()?,
            name: ClaimName::new(&stored.name).ok()?,
        };
        let claimant = Claimant { scope: stored.scope, holder: stored.holder };
        Some(WitnessedClaim { key, addresses: stored.addresses, is_awaited: stored.awaited, claimant })
    };
    (stored.boot == boot.0).then(|| stored.claims.into_iter().map(claim).collect()).flatten()
}

impl ClaimsSeen {
    pub(crate) fn new(run_dir: &Path, boot: &BootId, engine: &Arc<Engine>) -> Self {
        let (path, boot, engine) = (run_dir.join(NAME), boot.clone(), Arc::downgrade(engine));
        Self { path, boot, engine, written: Mutex::default() }
    }

    /// Brings the file in line with the claims, unless it is.
    ///
    /// # Errors
    /// If it cannot be written; it is then as before.
    pub(crate) fn record(&self) -> io::Result<()> {
        let Some(engine) = self.engine.upgrade() else { return Ok(()) };
        let mut written = hold(&self.written);
        // What changes after this is written the next time.
        let version = engine.witnessed_version();
        if *written == Some(version) {
            return Ok(());
        }
        let claim = |claim: WitnessedClaim| SeenClaim {
            agent: claim.key.agent.to_string(),
            network: claim.key.network.to_string(),
            name: claim.key.name.to_string(),
            addresses: claim.addresses,
            awaited: claim.is_awaited,
            scope: claim.claimant.scope,
            holder: claim.claimant.holder,
        };
        let claims = engine.witnessed_claims().into_iter().map(claim).collect();
        let bytes = serde_json::to_vec(&StoredClaims { boot: self.boot.0.clone(), claims })?;
        let draft = self.path.with_extension("tmp");
        fs::write(&draft, bytes)?;
        fs::rename(draft, &self.path)?;
        *written = Some(version);
        Ok(())
    }
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
}
