//! The catalogue, and which policy serves which network.

use tenure_engine::Engine;
use tenure_engine::ports::CatalogueEntry;
use tenure_types::{Error, ErrorCode, NetworkName, PolicyName, PolicyStamp, Result};

use super::books::books;
use super::shown::{policy_ref, unknown_network};
use crate::v1;

pub(super) async fn list(engine: &Engine) -> v1::ListPoliciesResponse {
    let books = books(engine).await;
    let users = |stamp: &PolicyStamp| {
        let used = books.iter().filter(|book| book.network().policy.name == stamp.name);
        used.map(|book| book.network().name.to_string()).collect()
    };
    let policies = engine.ports().catalogue.list().into_iter().map(
        |CatalogueEntry { stamp, source, problem, loading }| {
            let networks = users(&stamp);
            v1::Policy {
                policy: Some(policy_ref(&stamp)),
                source,
                networks,
                problem: problem.unwrap_or_default(),
                loading,
            }
        },
    );
    v1::ListPoliciesResponse { policies: policies.collect() }
}

pub(super) async fn activate(
    engine: &Engine,
    request: v1::ActivatePolicyRequest,
) -> Result<v1::ActivatePolicyResponse> {
    let v1::ActivatePolicyRequest { network, policy } = request;
    let network = NetworkName::new(&network).map_err(|_| unknown_network(&network))?;
    let policy = PolicyName::new(policy).map_err(|error| Error::new(ErrorCode::UnknownPolicy, error))?;
    let (before, after) = engine.activate(&network, &policy).await?;
    Ok(v1::ActivatePolicyResponse { before: Some(policy_ref(&before)), after: Some(policy_ref(&after)) })
}
