//! The policy catalogue with each policy's networks, and activation.

use tenure_engine::Engine;
use tenure_engine::ports::CatalogueEntry;
use tenure_types::{Error, ErrorCode, NetworkName, PolicyName, PolicyStamp, Result};

use super::books::books;
use super::shown::{policy_ref, unknown_network};
use crate::v1;

pub(super) async fn list(engine: &Engine) -> v1::ListPoliciesResponse {
    let books = books(engine).await;
    let users = |stamp: &PolicyStamp| {
        let used = books
            .iter()
            .filter(|book| engine.choices(book.name()).is_some_and(|(now, _)| now.policy.name == stamp.name));
        used.map(|book| book.name().to_string()).collect()
    };
    let policies = engine.policies().into_iter().map(|CatalogueEntry { stamp, source, problem, loading }| {
        let networks = users(&stamp);
        v1::Policy {
            policy: Some(policy_ref(&stamp)),
            source,
            networks,
            problem: problem.unwrap_or_default(),
            loading,
        }
    });
    v1::ListPoliciesResponse { policies: policies.collect() }
}

pub(super) async fn activate(
    engine: &Engine,
    request: v1::ActivatePolicyRequest,
) -> Result<v1::ActivatePolicyResponse> {
    let v1::ActivatePolicyRequest { network, policy, change_ranges } = request;
    let network = NetworkName::new(&network).map_err(|_| unknown_network(&network))?;
    let policy = PolicyName::new(policy).map_err(|error| Error::new(ErrorCode::UnknownPolicy, error))?;
    let activated = engine.activate(&network, &policy, change_ranges).await?;
    Ok(v1::ActivatePolicyResponse {
        before: activated.before.as_ref().map(policy_ref),
        after: Some(policy_ref(&activated.after)),
        ranges_added: activated.added,
        ranges_removed: activated.removed,
    })
}
