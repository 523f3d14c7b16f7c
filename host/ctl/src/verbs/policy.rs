//! The operator's verbs about policies.

use std::path::Path;
use std::time::Duration;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use super::file;
use crate::arguments::Policy;
use crate::daemon::Daemon;
use crate::report::{Activated, Report, Shadowed};

/// The size of a piece of a component on the wire, in bytes.
const PIECE: usize = 1 << 20;

/// How long the daemon may take to compile a policy and to try it out, unless the caller allows more.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) async fn policy(daemon: &Daemon, policy: Policy) -> Result<Report, Error> {
    let daemon = &daemon.for_at_least(PATIENCE);
    match policy {
        Policy::List => {
            let request = v1::ListPoliciesRequest {};
            daemon.call(async |mut admin| admin.list_policies(request).await).await.map(Report::Policies)
        }
        Policy::Inspect { policy } => {
            let request = v1::InspectPolicyRequest { policy };
            daemon.call(async |mut admin| admin.inspect_policy(request).await).await.map(Report::Inspected)
        }
        Policy::Load { file, name, sha256 } => load(daemon, &file, name, sha256).await,
        Policy::Unload { policy } => {
            let request = v1::UnloadPolicyRequest { policy };
            daemon.call(async |mut admin| admin.unload_policy(request).await).await.map(Report::Unloaded)
        }
        Policy::Activate { network, policy, change_ranges, unchecked } => {
            let request =
                v1::ActivatePolicyRequest { network: network.clone(), policy, change_ranges, unchecked };
            let answer = daemon.call(async |mut admin| admin.activate_policy(request).await).await?;
            Ok(Report::Activated(Activated { network, answer }))
        }
        Policy::Shadow { network, policy, end } => {
            let policy = policy.unwrap_or_default();
            let request = v1::ShadowPolicyRequest { network: network.clone(), policy, end };
            let answer = daemon.call(async |mut admin| admin.shadow_policy(request).await).await?;
            Ok(Report::Shadowed(Shadowed { network, answer }))
        }
        Policy::Promote { network, change_ranges, now } => {
            let request = v1::PromotePolicyRequest { network: network.clone(), change_ranges, now };
            let answer = daemon.call(async |mut admin| admin.promote_policy(request).await).await?;
            Ok(Report::Activated(Activated { network, answer }))
        }
        Policy::RollBack { network, reason } => {
            let request = v1::RollBackPolicyRequest { network: network.clone(), reason };
            let answer = daemon.call(async |mut admin| admin.roll_back_policy(request).await).await?;
            Ok(Report::Activated(Activated { network, answer }))
        }
        Policy::History { network } => {
            let request = v1::GetPolicyHistoryRequest { network };
            daemon.call(async |mut admin| admin.get_policy_history(request).await).await.map(Report::History)
        }
        Policy::Replay(arguments) => super::replay::replay(&arguments).map(Report::Replayed),
        Policy::Author(author) => crate::author::run(author).map(Report::Work),
    }
}

async fn load(
    daemon: &Daemon,
    path: &Path,
    name: Option<String>,
    sha256: Option<String>,
) -> Result<Report, Error> {
    let bytes = file::read(path)?;
    let named = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let signature = path.with_added_extension("minisig");
    let signature = match signature.exists() {
        true => String::from_utf8_lossy(&file::read(&signature)?).into_owned(),
        false => String::new(),
    };
    let source = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let head = v1::LoadPolicyHead {
        name: name.unwrap_or_else(named),
        sha256: sha256.unwrap_or_default(),
        signature,
        source,
    };
    if bytes.is_empty() {
        let cause = format_args!("{}: the file is empty", path.display());
        return Err(Error::new(ErrorCode::PolicyUnloadable, cause));
    }
    let mut head = Some(head);
    let pieces: Vec<_> = bytes
        .chunks(PIECE)
        .map(|piece| v1::LoadPolicyPart { head: head.take(), piece: piece.to_vec() })
        .collect();
    let parts = futures_util::stream::iter(pieces);
    daemon.call(async |mut admin| admin.load_policy(parts).await).await.map(Report::Loaded)
}
