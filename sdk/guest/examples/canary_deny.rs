//! Canary: assigns as usual, but refuses some pods with a reason that their events show, for trying shadow runs and
//! roll-back. `"deny": {"podSuffix": "-canary", "oneIn": 10, "reason": "this node is being drained"}`.

use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Node, Policy, Proposal, Refusal, Request, configuration, ledger,
};

/// Refuses pods by a suffix of their name, and one of so many containers.
#[derive(Debug)]
pub struct CanaryDeny;

impl Policy for CanaryDeny {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        if let Some(deny) = config.root()?.get("deny")? {
            Deny::read(&deny)?;
        }
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        if let Some(deny) = configuration::get().root()?.get("deny")? {
            Deny::read(&deny)?.check(request)?;
        }
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let full = || Refusal::exhausted(format!("no address is free in pool {}", pool.name));
            proposal.assign(pool.index, pool.shelf().next_in_turn().ok_or_else(full)?);
        }
        Ok(proposal)
    }
}

/// Which requests are refused, and why.
struct Deny {
    suffix: Option<String>,
    one_in: Option<u32>,
    reason: String,
}

impl Deny {
    fn read(deny: &Node) -> Result<Self, ConfigError> {
        let text = |key| -> Result<Option<String>, ConfigError> {
            deny.get(key)?.map(|value| value.text().map(str::to_owned)).transpose()
        };
        let suffix = text("podSuffix")?;
        let one_in = deny.get("oneIn")?.map(|number| number.count()).transpose()?;
        if suffix.as_deref() == Some("") || one_in == Some(0) {
            return Err(deny.wrong("podSuffix must not be empty, and oneIn must be at least 1"));
        }
        let reason = text("reason")?.unwrap_or_else(|| "refused on purpose, to try this policy".to_owned());
        Ok(Self { suffix, one_in, reason })
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let (pod, container) = (request.attribute("pod.name"), request.attribute("owner.container"));
        let by_suffix = pod.zip(self.suffix.as_deref()).is_some_and(|(pod, suffix)| pod.ends_with(suffix));
        let by_number = container.zip(self.one_in).is_some_and(|(id, one_in)| sum(id).is_multiple_of(one_in));
        if !by_suffix && !by_number {
            return Ok(());
        }
        let whom = request.name().unwrap_or_else(|| "a container".into());
        Err(Refusal::Other(format!("{whom}: {}", self.reason)))
    }
}

/// A number of a container that is the same for every repetition of its request.
fn sum(id: &str) -> u32 {
    id.bytes().fold(2_166_136_261, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
}

tenure_sdk::export!(CanaryDeny);
