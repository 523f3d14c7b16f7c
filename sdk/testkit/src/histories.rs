//! Random histories: a policy is called in situations that nobody thought of.

use std::fmt;
use std::net::IpAddr;

use tenure_types::{Error, ErrorCode};

use crate::{Node, Subject};

/// The environment variable that repeats one history.
const SEED: &str = "TENURE_SEED";

/// The steps of a history.
const STEPS: u32 = 200;

/// A history in which a policy broke a rule that holds for every policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The seed of the history.
    pub seed: u64,
    /// The steps that lead to the failure.
    pub steps: Vec<String>,
    /// The rule.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, steps, what } = self;
        write!(formatter, "{what}\nafter:\n  {}\n{SEED}={seed} repeats it", steps.join("\n  "))
    }
}

impl std::error::Error for Broken {}

/// Runs `count` random histories of ADDs, DELs and waiting on a network, by pods of a few namespaces, and checks what
/// holds for every policy: that it never fails, that the ledger accepts each of its proposals, and that it gives the
/// same answer to the same question.
///
/// A history is repeatable by its seed, which a failure names.
///
/// ```
/// # use tenure_sdk::{Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};
/// # pub struct InTurn;
/// # impl Policy for InTurn {
/// #     fn define(_: &Config) -> Result<Definition, ConfigError> { Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred)) }
/// #     fn propose(_: &Request) -> Result<Proposal, Refusal> {
/// #         let mut proposal = Proposal::new();
/// #         let free = ledger::pools().next().and_then(|pool| pool.shelf().next_in_turn());
/// #         proposal.assign(0, free.ok_or_else(|| Refusal::exhausted("nothing is free"))?);
/// #         Ok(proposal)
/// #     }
/// # }
/// use tenure_testkit::{Native, histories};
///
/// histories(Native::<InTurn>::new, r#"{ "subnet": "10.1.2.0/28" }"#, &["shop", "bank"], 20)?;
/// # Ok::<(), tenure_testkit::histories::Broken>(())
/// ```
///
/// # Errors
/// [`Broken`] with the steps that lead to the first broken rule.
pub fn histories<S: Subject>(
    subject: impl Fn() -> S,
    ipam: &str,
    namespaces: &[&str],
    count: u64,
) -> Result<(), Broken> {
    let only = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..count, |seed: u64| seed..seed.saturating_add(1));
    seeds.into_iter().try_for_each(|seed| history(&subject, ipam, namespaces, seed))
}

fn history<S: Subject>(
    subject: &impl Fn() -> S,
    ipam: &str,
    namespaces: &[&str],
    seed: u64,
) -> Result<(), Broken> {
    let mut steps = vec![format!("network {ipam}")];
    let broken = |what: String, steps: Vec<String>| Broken { seed, steps, what };
    let mut node = match Node::of(subject(), ipam) {
        Ok(node) => node,
        Err(error) => return Err(broken(format!("the network is not accepted: {error}"), steps)),
    };
    let mut random = Random(seed);
    for _ in 0..STEPS {
        let namespace = namespaces.get(random.below(namespaces.len())).copied().unwrap_or("default");
        let owner = format!("{namespace}/pod-{}", random.below(16));
        let outcome = match random.below(8) {
            0..=4 => {
                steps.push(format!("add {owner}"));
                let before = node.clone_for(subject());
                let ended = node.add(&owner);
                same(before, &owner, &ended).and_then(|()| accepted(&ended))
            }
            5 | 6 => {
                steps.push(format!("del {owner}"));
                node.del(&owner).map(drop).map_err(|error| error.to_string())
            }
            _ => {
                steps.push("thaw".into());
                node.thaw();
                Ok(())
            }
        };
        if let Err(what) = outcome {
            return Err(broken(what, steps));
        }
    }
    Ok(())
}

/// Whether the same question on the same book gets the same answer.
fn same<S: Subject>(
    mut before: Node<S>,
    owner: &str,
    ended: &Result<Vec<IpAddr>, Error>,
) -> Result<(), String> {
    let again = before.add(owner);
    if again == *ended { Ok(()) } else { Err(format!("the same question got {ended:?} and then {again:?}")) }
}

/// Whether the policy answered or refused, as opposed to failing.
fn accepted(ended: &Result<Vec<IpAddr>, Error>) -> Result<(), String> {
    match ended {
        Err(error) if matches!(error.code, ErrorCode::ProposalRejected) => {
            Err(format!("the ledger does not accept its proposal: {error}"))
        }
        Err(error) if matches!(error.code, ErrorCode::PolicyFailed | ErrorCode::Internal) => {
            Err(format!("it failed: {error}"))
        }
        _ => Ok(()),
    }
}

/// Repeatable numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`; 0 if that is 0.
    fn below(&mut self, most: usize) -> usize {
        let most = u64::try_from(most).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % most).unwrap_or_default()
    }
}
