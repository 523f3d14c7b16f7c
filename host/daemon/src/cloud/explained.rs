//! An explained plan, about cloud interfaces or the blocks of a cluster.

use std::sync::Arc;

use tenure_aws::executor::Explained;
use tenure_ledger::{Book, Intent};
use tenure_rpc::v1;
use tenure_types::{Effect, NetworkName, PolicyStamp};

use super::{map, told};

/// A plan that `policy` made, if the plan itself does not say which policy it was.
pub(crate) fn explained(
    network: &NetworkName,
    policy: Option<&PolicyStamp>,
    book: Option<&Book>,
    explained: Explained,
) -> v1::ExplainPlanResponse {
    let Explained { pools, outlook, open, planned } = explained;
    let mut response = v1::ExplainPlanResponse {
        network: network.to_string(),
        policy: policy.map(policy_ref),
        pending: open.iter().map(intent).collect(),
        pools: pools
            .iter()
            .map(|pool| v1::PlannedPool {
                name: pool.name.to_string(),
                total: pool.usage.total,
                held: pool.usage.held,
                cooling: pool.usage.cooling,
                free: pool.usage.total.saturating_sub(pool.usage.held).saturating_sub(pool.usage.cooling),
                waiting: pool.waiting,
            })
            .collect(),
        objects: outlook
            .objects
            .into_iter()
            .map(|object| v1::PlanObject {
                attributes: map(&object.attributes),
                kind: object.kind,
                name: object.name,
            })
            .collect(),
        attributes: map(&outlook.attributes),
        ..v1::ExplainPlanResponse::default()
    };
    match planned {
        Ok(planned) => {
            response.policy = Some(policy_ref(&planned.policy));
            response.effects = planned.intents.iter().map(intent).collect();
            response.lines = planned.lines;
            response.refused =
                planned.refused.iter().map(|(effect, why)| refused(book, effect, why.to_string())).collect();
        }
        Err(error) => {
            response.code = error.code.name().to_owned();
            response.words = error.cause;
        }
    }
    response
}

fn policy_ref(stamp: &PolicyStamp) -> v1::PolicyRef {
    v1::PolicyRef { name: stamp.name.to_string(), sha256: stamp.digest.to_string() }
}

fn intent(intent: &Arc<Intent>) -> v1::PlannedEffect {
    let (attributes, reason) = told(&intent.attributes);
    v1::PlannedEffect {
        kind: intent.kind.name().to_owned(),
        pool: intent.pool.to_string(),
        attributes,
        reason,
        refusal: String::new(),
    }
}

fn refused(book: Option<&Book>, effect: &Effect, why: String) -> v1::PlannedEffect {
    let (attributes, reason) = told(&effect.attributes);
    // A policy may name a pool that does not exist, which is then why it is refused.
    let pool = book.and_then(|book| book.pools().get(effect.pool)).map(|pool| pool.name.to_string());
    v1::PlannedEffect {
        kind: effect.kind.name().to_owned(),
        pool: pool.unwrap_or_default(),
        attributes,
        reason,
        refusal: why,
    }
}
