//! Components that nobody wrote: loaded, and called if they load.
//!
//! The first byte of the input is the kind of component, the rest is what it is made of. Loading ends with a policy or with
//! an error that names the component; so does each call. The sandbox's limits are small, so that an input takes a moment.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tenure_ledger::{Book, Defined, check_definition};
use tenure_policy::{CallLimits, Compiler, PolicyRuntime, WasmPolicy};
use tenure_types::{
    ContainerId, Definer, Error, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Owner,
    PolicyName, Request, RequestContext, Sandbox,
};

use crate::generated::{KINDS, component};

/// The memory of a call, in bytes.
const MEMORY: usize = 4 << 20;

/// The longest cause of an error, in bytes.
const LONGEST_CAUSE: usize = 16 << 10;

/// The codes of errors that a policy's own refusal may have.
const REFUSALS: [ErrorCode; 7] = [
    ErrorCode::InvalidConfig,
    ErrorCode::PoolExhausted,
    ErrorCode::AddressUnavailable,
    ErrorCode::NotYet,
    ErrorCode::RequestDenied,
    ErrorCode::OverQuota,
    ErrorCode::PolicyRefused,
];

/// Loads a component and calls it as directed by the bytes.
///
/// # Panics
/// When an error does not name the policy, or has a code that does not fit, or a call uses more than its memory.
pub fn policy_component(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let Some(bytes) = component(kind % KINDS, rest) else { return };
    let (Some(runtime), Ok(name)) = (runtime(), PolicyName::new("generated")) else { return };
    match runtime.load(&name, &bytes, None) {
        Err(error) => check(&error, &[ErrorCode::PolicyUnloadable]),
        Ok(policy) => {
            call(&policy);
            let peak = policy.metered().memory_peak;
            assert!(peak <= MEMORY as u64, "a call used {peak} bytes");
        }
    }
}

/// The sandbox that all inputs share, as a node's policies do.
fn runtime() -> Option<&'static PolicyRuntime> {
    static RUNTIME: OnceLock<Option<PolicyRuntime>> = OnceLock::new();
    let limits = CallLimits {
        deadline: Duration::from_millis(5),
        memory: MEMORY,
        concurrency: 1,
        answer: 64 << 10,
        ..CallLimits::default()
    };
    RUNTIME.get_or_init(|| PolicyRuntime::new(limits, Compiler::InProcess).ok()).as_ref()
}

/// Defines a network, and proposes for two containers.
fn call(policy: &WasmPolicy) {
    let Ok(network) = NetworkName::new("net") else { return };
    let ipam = r#"{"subnet": "10.1.2.0/28"}"#.into();
    let config = Arc::new(NetworkConfig { ipam, ..NetworkConfig::default() });
    let failures = [&REFUSALS[..], &[ErrorCode::PolicyFailed]].concat();
    let defined = policy.define(&network, &config);
    let own = defined.inspect_err(|error| check(error, &failures)).ok();
    // A definition that the ledger rejects goes no further; a book without one is what a request never meets.
    let own = own.filter(|definition| check_definition(definition).is_ok());
    let Some(definition) = own else { return };
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let Ok(mut book) = Book::defined(&network, defined, Moment::default()) else { return };
    for (number, container) in (1..).zip(["one", "two"]) {
        let now = Moment { boot_ns: number, wall_ms: number };
        let (Ok(container), Ok(interface)) = (ContainerId::new(container), InterfaceName::new("eth0")) else {
            return;
        };
        let request = Request {
            network: network.clone(),
            owner: Owner::Attachment { container, interface },
            requested: Vec::new(),
            sandbox: Sandbox::default(),
            supply_full: false,
            context: RequestContext::default(),
            requested_at: now,
        };
        let view = Arc::new(book.clone());
        match policy.propose(&request, &[], &view) {
            Err(error) => check(&error, &failures),
            Ok(outcome) => {
                if let Ok(allocation) = book.admit(&request, &outcome.proposal, policy.stamp(), now) {
                    let fact = tenure_ledger::LedgerFact::Allocated(Arc::new(allocation));
                    let applied = book.apply(book.through() + 1, &fact);
                    assert_eq!(applied, Ok(()), "the book refuses its own fact");
                }
            }
        }
    }
}

/// An error has an expected code and a cause of one line that names the policy and its digest.
fn check(error: &Error, codes: &[ErrorCode]) {
    assert!(codes.contains(&error.code), "{error:?}");
    assert!(error.cause.starts_with("policy generated@"), "{error:?}");
    assert!(!error.cause.contains(char::is_control) && error.cause.len() < LONGEST_CAUSE, "{error:?}");
}
