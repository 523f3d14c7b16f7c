//! The operator's verbs about policies.

use std::time::Duration;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use super::state;
use crate::arguments::PolicyVerb;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::{Activated, PolicyStateReport, Shadowed};

/// The polling interval of `--wait`.
const AGAIN: Duration = Duration::from_millis(100);

/// How long the daemon may take to compile a policy and to try it out, unless the caller allows more.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) async fn policy(daemon: &Daemon, policy: PolicyVerb) -> Result<Report, Error> {
    let patience = daemon.timeout();
    let daemon = &daemon.for_at_least(PATIENCE);
    match policy {
        PolicyVerb::List { wait } => list(daemon, wait).await.map(Report::of),
        PolicyVerb::Inspect { policy } => {
            let request = v1::InspectPolicyRequest { policy };
            daemon.call(async |mut admin| admin.inspect_policy(request).await).await.map(Report::of)
        }
        PolicyVerb::Load(arguments) => super::load::load(daemon, *arguments, patience).await,
        #[cfg(feature = "registry")]
        PolicyVerb::Pull(arguments) => super::pull::pull(&arguments, patience).await,
        PolicyVerb::Unload { policy } => {
            let request = v1::UnloadPolicyRequest { policy };
            daemon.call(async |mut admin| admin.unload_policy(request).await).await.map(Report::of)
        }
        PolicyVerb::Activate { network, policy, change_ranges, unchecked, empty_state, reason } => {
            let on = network.clone();
            let request = v1::ActivatePolicyRequest {
                network: on,
                policy,
                change_ranges,
                unchecked,
                empty_state,
                reason: signed(reason, sudo_user().as_deref()),
            };
            let answer = daemon.call(async |mut admin| admin.activate_policy(request).await).await?;
            Ok(Report::of(Activated { network, answer }))
        }
        PolicyVerb::Shadow { network, policy, end, reason } => {
            let (policy, reason) = (policy.unwrap_or_default(), signed(reason, sudo_user().as_deref()));
            let request = v1::ShadowPolicyRequest { network: network.clone(), policy, end, reason };
            let answer = daemon.call(async |mut admin| admin.shadow_policy(request).await).await?;
            Ok(Report::of(Shadowed { network, answer }))
        }
        PolicyVerb::Promote { network, change_ranges, now, reason } => {
            let reason = signed(reason, sudo_user().as_deref());
            let request = v1::PromotePolicyRequest { network: network.clone(), change_ranges, now, reason };
            let answer = daemon.call(async |mut admin| admin.promote_policy(request).await).await?;
            Ok(Report::of(Activated { network, answer }))
        }
        PolicyVerb::RollBack { network, to, reason } => {
            let reason = signed(reason, sudo_user().as_deref());
            let request = v1::RollBackPolicyRequest { network: network.clone(), reason, to };
            let answer = daemon.call(async |mut admin| admin.roll_back_policy(request).await).await?;
            Ok(Report::of(Activated { network, answer }))
        }
        PolicyVerb::History { network } => {
            let request = v1::GetPolicyHistoryRequest { network };
            daemon.call(async |mut admin| admin.get_policy_history(request).await).await.map(Report::of)
        }
        PolicyVerb::State { network, export, import, if_version, reason } => match (export, import) {
            (_, Some(file)) => {
                let reason = signed(reason, sudo_user().as_deref());
                state::import(daemon, network, &file, if_version, reason).await
            }
            (Some(file), None) => state::export(daemon, network, &file).await,
            (None, None) => state::get(daemon, &network)
                .await
                .map(|answer| Report::of(PolicyStateReport { network, answer })),
        },
        PolicyVerb::Replay(arguments) => super::replay::replay(&arguments).map(Report::of),
        #[cfg(feature = "author")]
        PolicyVerb::Author(author) => crate::author::run(author),
    }
}

/// Lists the policies at once or, with `wait`, when none is being loaded any more.
async fn list(daemon: &Daemon, wait: Option<Duration>) -> Result<v1::ListPoliciesResponse, Error> {
    let started = tokio::time::Instant::now();
    loop {
        let request = v1::ListPoliciesRequest {};
        let answer = daemon.call(async |mut admin| admin.list_policies(request).await).await?;
        let loading = answer.policies.iter().filter(|policy| policy.loading);
        let loading: Vec<_> =
            loading.filter_map(|policy| Some(policy.policy.as_ref()?.name.as_str())).collect();
        let Some(wait) = wait.filter(|_| !loading.is_empty()) else { return Ok(answer) };
        if started.elapsed() >= wait {
            let cause = format_args!("still loading {} after {} s", loading.join(", "), wait.as_secs());
            return Err(Error::new(ErrorCode::NotReady, cause));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The user who runs this program with sudo, as sudo says. Only root can connect, so the daemon itself knows no more than that.
fn sudo_user() -> Option<String> {
    std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty() && user != "root")
}

/// A reason for the history, with the name of the person.
fn signed(reason: String, user: Option<&str>) -> String {
    match (user, reason.as_str()) {
        (None, _) => reason,
        (Some(user), "") => user.to_owned(),
        (Some(user), reason) => format!("{user}, {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn a_reason_names_the_person_that_sudo_names() {
        assert_eq!(signed("zone b is full".into(), Some("alice")), "alice, zone b is full");
        assert_eq!(signed(String::new(), Some("alice")), "alice");
        assert_eq!(signed("zone b is full".into(), None), "zone b is full");
    }
}
