//! The policies of the node, and what each of them serves.

use tenure_engine::Engine;
use tenure_engine::ports::CatalogueEntry;
use tenure_ledger::choices::Served;
use tenure_types::{Error, ErrorCode, NetworkName, PolicyStamp, Result};

use super::exchange::selected;
use super::granted;
use super::shown::policy_ref;
use crate::v1;

/// All policies: what the catalogue's names stand for, and the older versions that are loaded or in use.
pub(super) fn list(engine: &Engine) -> v1::ListPoliciesResponse {
    let uses = Uses::of(engine);
    let policies = known(engine, &uses).into_iter().map(|known| v1::Policy {
        networks: uses.serves(&known.policy),
        shadows: uses.shadows(&known.policy),
        source: known.source,
        problem: known.problem,
        loading: known.loading,
        file_problem: known.file_problem,
        benched: engine.benched(&known.policy),
        notice: granted::notice(engine, &known.policy),
        policy: Some(policy_ref(&known.policy)),
    });
    v1::ListPoliciesResponse { policies: policies.collect() }
}

/// The versions of one policy.
pub(super) fn inspect(engine: &Engine, policy: &str) -> Result<v1::InspectPolicyResponse> {
    let selector = selected(policy)?;
    let uses = Uses::of(engine);
    let versions: Vec<_> = known(engine, &uses)
        .into_iter()
        .filter(|known| selector.matches(&known.policy))
        .map(|known| (engine.policy_details(&known.policy), known))
        .map(|(details, known)| v1::PolicyVersion {
            benched: engine.benched(&known.policy),
            notice: granted::notice(engine, &known.policy),
            grants: details.as_ref().map(|details| granted::grants(engine, &known.policy.name, details)),
            meter: details.as_ref().map(|details| granted::meter(&details.meter)),
            serves: uses.serves(&known.policy),
            shadows: uses.shadows(&known.policy),
            served: uses.served(&known.policy),
            policy: Some(policy_ref(&known.policy)),
            source: known.source,
            signer: known.signer,
            loaded_at_ms: known.loaded_at_ms,
            current: known.current,
            problem: known.problem,
            file_problem: known.file_problem,
        })
        .collect();
    if versions.is_empty() {
        return Err(Error::new(ErrorCode::UnknownPolicy, format_args!("no policy {selector} on this node")));
    }
    Ok(v1::InspectPolicyResponse { versions })
}

/// A version of a policy that the node knows.
struct KnownVersion {
    policy: PolicyStamp,
    source: String,
    signer: String,
    loaded_at_ms: u64,
    /// Whether its name stands for it.
    current: bool,
    problem: String,
    loading: bool,
    file_problem: String,
}

/// All versions, sorted by name; the one that a name stands for comes first.
fn known(engine: &Engine, uses: &Uses) -> Vec<KnownVersion> {
    let components = engine.components();
    let entry = |CatalogueEntry { stamp, source, problem, loading, file_problem }| KnownVersion {
        policy: stamp,
        source,
        signer: String::new(),
        loaded_at_ms: 0,
        current: true,
        problem: problem.unwrap_or_default(),
        loading,
        file_problem: file_problem.unwrap_or_default(),
    };
    let mut all: Vec<KnownVersion> = engine.policies().into_iter().map(entry).collect();
    let older = |policy: PolicyStamp, source: &str| KnownVersion {
        policy,
        source: source.to_owned(),
        signer: String::new(),
        loaded_at_ms: 0,
        current: false,
        problem: String::new(),
        loading: false,
        file_problem: String::new(),
    };
    for component in components.iter().rev() {
        if !all.iter().any(|known| known.policy == component.policy) {
            all.push(older(component.policy.clone(), &component.source));
        }
    }
    for policy in uses.policies() {
        if !all.iter().any(|known| known.policy == *policy) {
            all.push(older(policy.clone(), "kept on this node"));
        }
    }
    for known in &mut all {
        if let Some(component) = components.iter().find(|component| component.policy == known.policy) {
            known.signer.clone_from(&component.signer);
            known.loaded_at_ms = component.at.wall_ms;
        }
    }
    all.sort_by(|one, other| one.policy.name.cmp(&other.policy.name));
    all
}

/// The policies of each network.
struct Uses(Vec<(NetworkName, Served)>);

impl Uses {
    fn of(engine: &Engine) -> Self {
        let networks = engine.network_names().into_iter();
        Self(networks.filter_map(|network| Some((network.clone(), engine.policies_of(&network)?))).collect())
    }

    /// The policies that serve or shadow a network.
    fn policies(&self) -> impl Iterator<Item = &PolicyStamp> {
        self.0.iter().flat_map(|(_, served)| {
            [&served.now.policy].into_iter().chain(served.shadow.iter().map(|shadow| &shadow.policy))
        })
    }

    fn networks(&self, is_used: impl Fn(&Served) -> bool) -> Vec<String> {
        let used = self.0.iter().filter(|(_, served)| is_used(served));
        used.map(|(network, _)| network.to_string()).collect()
    }

    fn serves(&self, policy: &PolicyStamp) -> Vec<String> {
        self.networks(|served| served.now.policy == *policy)
    }

    fn shadows(&self, policy: &PolicyStamp) -> Vec<String> {
        self.networks(|served| served.shadow.as_ref().is_some_and(|shadow| shadow.policy == *policy))
    }

    fn served(&self, policy: &PolicyStamp) -> Vec<String> {
        self.networks(|served| served.before.iter().any(|choice| choice.policy == *policy))
    }
}
