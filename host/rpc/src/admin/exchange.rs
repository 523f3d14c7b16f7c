//! Which policy serves a network: activation, shadow runs, promotion, roll-back and history.

use std::sync::Arc;

use tenure_engine::{Activate, Difference, Engine, Redefined, ShadowReport};
use tenure_ledger::{Chooser, Step, StepKind};
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, Result};

use super::shown::{policy_ref, unknown_network};
use crate::v1;

pub(super) async fn activate(
    engine: &Arc<Engine>,
    request: v1::ActivatePolicyRequest,
) -> Result<v1::ActivatePolicyResponse> {
    let v1::ActivatePolicyRequest { network, policy, change_ranges, unchecked, empty_state, reason } =
        request;
    let (network, policy) = (named(&network)?, selected(&policy)?);
    let activate = Activate { network, policy, change_ranges, unchecked, empty_state, reason };
    let engine = Arc::clone(engine);
    to_the_end(async move { engine.activate(&activate).await }).await.map(exchanged)
}

pub(super) async fn promote(
    engine: &Arc<Engine>,
    request: v1::PromotePolicyRequest,
) -> Result<v1::ActivatePolicyResponse> {
    let v1::PromotePolicyRequest { network, change_ranges, now, reason } = request;
    let (engine, network) = (Arc::clone(engine), named(&network)?);
    to_the_end(async move { engine.promote(&network, change_ranges, now, &reason).await })
        .await
        .map(exchanged)
}

pub(super) async fn roll_back(
    engine: &Arc<Engine>,
    request: v1::RollBackPolicyRequest,
) -> Result<v1::ActivatePolicyResponse> {
    let v1::RollBackPolicyRequest { network, reason, to } = request;
    let (engine, network) = (Arc::clone(engine), named(&network)?);
    let to = if to.is_empty() { None } else { Some(selected(&to)?) };
    to_the_end(async move { engine.roll_back_to(&network, to.as_ref(), &reason).await }).await.map(exchanged)
}

pub(super) async fn shadow(
    engine: &Arc<Engine>,
    request: v1::ShadowPolicyRequest,
) -> Result<v1::ShadowPolicyResponse> {
    let v1::ShadowPolicyRequest { network, policy, end, reason } = request;
    let network = named(&network)?;
    let (changing, on) = (Arc::clone(engine), network.clone());
    if end {
        to_the_end(async move { changing.end_shadow(&on, &reason).await }).await?;
    } else if !policy.is_empty() {
        let policy = selected(&policy)?;
        to_the_end(async move { changing.shadow(&on, &policy, &reason).await }).await?;
    } else if engine.policies_of(&network).is_none() {
        return Err(unknown_network(network.as_str()));
    }
    Ok(engine.shadow_report(&network).map(report).unwrap_or_default())
}

pub(super) fn history(engine: &Engine, network: &str) -> Result<v1::GetPolicyHistoryResponse> {
    let served = engine.policies_of(&named(network)?).ok_or_else(|| unknown_network(network))?;
    let step = |Step { kind, policy, at, why }: Step| v1::PolicyStep {
        at_ms: at.wall_ms,
        kind: kind.name().to_owned(),
        policy: Some(policy_ref(&policy)),
        by: by_whom(kind).to_owned(),
        reason: if why.is_empty() { reason(kind).to_owned() } else { why },
    };
    Ok(v1::GetPolicyHistoryResponse {
        now: Some(policy_ref(&served.now.policy)),
        watched: served.now.watched,
        before: served.before.iter().map(|choice| policy_ref(&choice.policy)).collect(),
        steps: served.history.into_iter().map(step).collect(),
    })
}

/// The role that took a step; empty if only its reason names it: for what was refused, and for the end of a shadow run.
fn by_whom(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Chosen(Chooser::Configuration) => "configuration",
        StepKind::Chosen(Chooser::Operator) | StepKind::ShadowBegun | StepKind::StateReplaced => "operator",
        StepKind::Chosen(Chooser::RollBack) | StepKind::Undone | StepKind::Kept => "tenured",
        StepKind::ShadowEnded | StepKind::Refused => "",
    }
}

/// Why a step was taken that has no reason of its own.
fn reason(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Chosen(Chooser::Configuration) => "named by the network's configuration",
        StepKind::Chosen(Chooser::Operator)
        | StepKind::ShadowBegun
        | StepKind::ShadowEnded
        | StepKind::StateReplaced => "by an operator",
        StepKind::Chosen(Chooser::RollBack) | StepKind::Undone | StepKind::Refused | StepKind::Kept => "",
    }
}

/// The name of a network, which may not exist.
pub(super) fn named(network: &str) -> Result<NetworkName> {
    NetworkName::new(network).map_err(|_| unknown_network(network))
}

/// The policy that an operator means.
pub(super) fn selected(policy: &str) -> Result<PolicySelector> {
    policy.parse().map_err(|error| Error::new(ErrorCode::UnknownPolicy, error))
}

/// Does something to the end, even if the caller hangs up: half an exchange has to be undone by somebody.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work).await.unwrap_or_else(|error| Err(Error::new(ErrorCode::Internal, error)))
}

fn exchanged(exchanged: Redefined) -> v1::ActivatePolicyResponse {
    v1::ActivatePolicyResponse {
        before: exchanged.before.as_ref().map(policy_ref),
        after: Some(policy_ref(&exchanged.after)),
        ranges_added: exchanged.added,
        ranges_removed: exchanged.removed,
    }
}

fn report(report: ShadowReport) -> v1::ShadowPolicyResponse {
    let ShadowReport {
        policy,
        since,
        verdicts,
        rehearsed,
        refused_again: _,
        of_claims: _,
        recorded,
        skipped,
        problem,
    } = report;
    let us = |duration: std::time::Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let difference = |difference: Difference| v1::ShadowDifference {
        at_ms: difference.at.wall_ms,
        owner: difference.owner,
        verdict: difference.verdict.name().to_owned(),
        served: difference.served,
        candidate: difference.candidate,
    };
    v1::ShadowPolicyResponse {
        policy: policy.as_ref().map(policy_ref),
        since_ms: since.wall_ms,
        same: verdicts.same,
        other_address: verdicts.other_address,
        other_refusal: verdicts.other_refusal,
        failed: verdicts.failed,
        slower: verdicts.slower,
        served_us: us(verdicts.took.0),
        candidate_us: us(verdicts.took.1),
        skipped,
        rehearsed: rehearsed.0,
        answered: rehearsed.1,
        recorded: recorded.0,
        unanswered: recorded.1,
        problem: problem.unwrap_or_default(),
        differences: verdicts.examples.into_iter().map(difference).collect(),
    }
}
