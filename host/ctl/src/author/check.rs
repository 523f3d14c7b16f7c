//! `policy check`: what a component is, and what it needs of a node.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tenure_engine::{Conformance, conformance};
use tenure_policy::{Contents, sha256};
use tenure_testkit::Node;
use tenure_types::{Error, ErrorCode, NetworkConfig, NetworkName, PolicyFailure, Supply};

use super::sandboxed::{LARGEST_TIER, Sandboxed, read};
use crate::arguments::TrialOptions;

/// The tiers of memory that a node may grant a call, in MiB.
const TIERS: [usize; 4] = [4, 8, 16, LARGEST_TIER];

/// The network that a policy is tried on, unless another one is given.
pub(super) const NETWORK: &str = r#"{ "ranges": [[{ "subnet": "10.1.0.0/24" }]] }"#;

/// The result of checking a component.
pub(crate) struct Checked {
    pub(crate) file: PathBuf,
    pub(crate) bytes: usize,
    pub(crate) sha256: String,
    pub(crate) contents: Contents,
    pub(crate) trial: Trial,
    /// The outcome of the conformance suite, which a node runs before a policy may serve; `None` if the trial failed.
    pub(crate) conformance: Option<Conformance>,
}

/// How a component behaved on a network.
pub(crate) enum Trial {
    /// The component defined the network and served a pod.
    Served {
        /// The smallest tier of memory that was enough, in MiB.
        memory: usize,
    },
    /// The component defined the network, whose addresses the host supplies, and refused a pod: nothing is supplied here.
    Unsupplied {
        /// The smallest tier of memory that was enough, in MiB.
        memory: usize,
    },
    /// The component refused the network or the pod, for which this memory was enough. It has not shown that it serves anything.
    Refused {
        /// The smallest tier of memory that was enough, in MiB.
        memory: usize,
        why: Error,
    },
    /// A node could not use it.
    Failed(Error),
}

impl Checked {
    /// Whether a node could use it. One that has refused everything has not passed.
    pub(crate) fn is_usable(&self) -> bool {
        let conforms = self.conformance.as_ref().is_some_and(|suite| suite.failure.is_none());
        conforms && matches!(self.trial, Trial::Served { .. } | Trial::Unsupplied { .. })
    }
}

/// Checks a component on a network.
pub(super) fn check(file: &Path, options: &TrialOptions) -> Result<Checked, Error> {
    let bytes = read(file)?;
    let unusable =
        |cause: String| Error::new(ErrorCode::PolicyUnloadable, format_args!("{}: {cause}", file.display()));
    let contents = Contents::read(&bytes).map_err(unusable)?;
    let ipam = ipam(options)?;
    // Compiled once, for all tiers: that may take long.
    let (trial, conformance) = match Sandboxed::load(file, &bytes) {
        Err(error) => (Trial::Failed(error), None),
        Ok(policy) => {
            let trial = trial(&policy, &ipam, options);
            let conformance = match &trial {
                Trial::Served { memory } | Trial::Unsupplied { memory } | Trial::Refused { memory, .. } => {
                    Some(suite(&policy, *memory, ipam)?)
                }
                Trial::Failed(_) => None,
            };
            (trial, conformance)
        }
    };
    let (file, sha256) = (file.into(), sha256(&bytes));
    Ok(Checked { file, bytes: bytes.len(), sha256, contents, trial, conformance })
}

/// The `ipam` object to try a policy on.
pub(super) fn ipam(options: &TrialOptions) -> Result<String, Error> {
    let Some(file) = &options.network else { return Ok(NETWORK.into()) };
    let text = read(file)?;
    String::from_utf8(text)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}

/// A refusal, and what to pass so that there is none.
pub(super) fn with_hint(error: Error, options: &TrialOptions) -> Error {
    let Error { code, cause, .. } = &error;
    if !is_refusal(*code) {
        return error;
    }
    let hint = match options.network {
        None => "pass --network FILE with an `ipam` object that the policy accepts",
        Some(_) => {
            "the `ipam` object in the file of --network must be one under which the policy serves the pod"
        }
    };
    let pod = format_args!("the pod's namespace was {:?}, which --namespace sets", options.namespace);
    Error { cause: format!("{cause}; {hint}; {pod}"), ..error }
}

/// Tries each tier of memory, from the smallest.
fn trial(policy: &Sandboxed, ipam: &str, options: &TrialOptions) -> Trial {
    let mut last = Trial::Failed(Error::new(ErrorCode::Internal, "no memory tier was tried"));
    for memory in TIERS {
        policy.limit(memory << 20);
        let mut is_supplied = false;
        let tried = Node::of(policy.clone(), ipam).and_then(|mut node| {
            is_supplied = node.book().pools().iter().any(|pool| pool.supply == Supply::Host);
            node.add(&format!("{}/pod-0", options.namespace))
        });
        match tried {
            Ok(_) => return Trial::Served { memory },
            Err(error) if is_refusal(error.code) && is_supplied => return Trial::Unsupplied { memory },
            Err(error) if is_refusal(error.code) => {
                return Trial::Refused { memory, why: with_hint(error, options) };
            }
            Err(error) => {
                let more = wants_memory(&error);
                last = Trial::Failed(error);
                if !more {
                    break;
                }
            }
        }
    }
    last
}

/// Runs the conformance suite as a node does.
fn suite(policy: &Sandboxed, memory: usize, ipam: String) -> Result<Conformance, Error> {
    policy.limit(memory << 20);
    let network = NetworkName::new("check").map_err(|error| Error::new(ErrorCode::Internal, error))?;
    let config = Arc::new(NetworkConfig { ipam, attributes: Vec::new() });
    let mut suite = pin!(conformance(policy, &network, &config));
    let mut context = Context::from_waker(Waker::noop());
    // Every answer is there at once. The suite only gives way to other tasks, and there are none.
    loop {
        if let Poll::Ready(conformance) = suite.as_mut().poll(&mut context) {
            return Ok(conformance);
        }
    }
}

/// Whether a policy that works gives this answer, too.
pub(super) fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::InvalidConfig
            | ErrorCode::PoolExhausted
            | ErrorCode::AddressUnavailable
            | ErrorCode::NotYet
            | ErrorCode::RequestDenied
            | ErrorCode::OverQuota
            | ErrorCode::PolicyRefused
    )
}

/// Whether more memory could help: for a call, or for the component's initial memory.
fn wants_memory(error: &Error) -> bool {
    error.failure == Some(PolicyFailure::Memory) || error.cause.contains("its initial memory")
}
