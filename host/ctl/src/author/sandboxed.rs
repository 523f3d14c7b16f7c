//! A component as a subject of the test kit: called in the sandbox, as a node calls it, but in this process.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use tenure_engine::ports::{Answer, Policy};
use tenure_ledger::Book;
use tenure_policy::{CallLimits, Compiler, Grants, PolicyRuntime, WasmPolicy};
use tenure_testkit::Subject;
use tenure_types::{
    Definition, Effect, EffectKind, Error, ErrorCode, NetworkConfig, NetworkName, Outcome, PlanState,
    PolicyName, PolicyStamp, Request,
};

/// The largest tier of memory that a node may grant a call, in MiB. Which of the tiers a policy needs is for `policy check` to say.
pub(super) const LARGEST_TIER: usize = 32;

/// A component, loaded.
#[derive(Debug, Clone)]
pub(super) struct Sandboxed(Arc<WasmPolicy>);

impl Sandboxed {
    /// Loads a component, whose calls may use the largest tier of memory, and whose plans may contain every effect.
    pub(super) fn load(file: &Path, bytes: &[u8]) -> Result<Self, Error> {
        // One call at a time: nothing here runs beside another.
        let limits = CallLimits { memory: LARGEST_TIER << 20, concurrency: 1, ..CallLimits::default() };
        let runtime = PolicyRuntime::new(limits, Compiler::InProcess)?;
        let loaded = Self(Arc::new(runtime.load(&name(file)?, bytes, None)?));
        loaded.limit(LARGEST_TIER << 20);
        Ok(loaded)
    }

    /// Limits the memory of a call, in bytes.
    pub(super) fn limit(&self, memory: usize) {
        self.0.grant(Grants { memory: Some(memory), effects: EffectKind::ALL.into(), ..Grants::default() });
    }

    /// A policy's text without its name and digest, which are always the same here.
    fn shown(&self, error: Error) -> Error {
        let prefixed = error.cause.strip_prefix(&format!("policy {}", self.0.stamp()));
        let text =
            prefixed.and_then(|rest| rest.strip_prefix(": ").or_else(|| rest.strip_prefix(" failed: ")));
        match text.map(str::to_owned) {
            Some(cause) => Error { cause, ..error },
            None => error,
        }
    }
}

impl Subject for Sandboxed {
    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        self.0.define(network, config).map_err(|error| self.shown(error))
    }

    fn propose(&self, request: &Request, state: &[u8], book: &Arc<Book>) -> Result<Outcome, Error> {
        self.0.propose(request, state, book).map_err(|error| self.shown(error))
    }

    fn plan(&self, state: &PlanState, book: &Arc<Book>) -> Result<Vec<Effect>, Error> {
        self.0.plan(state, book).map_err(|error| self.shown(error))
    }
}

/// The same as a port of the engine, for the conformance suite. Each answer is there at once.
impl Policy for Sandboxed {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        self.0.stamp()
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(ready(Subject::define(self, network, config)))
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(ready(Subject::propose(self, request, &state, &book)))
    }
}

/// A component's bytes.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}

/// The name of the policy in a file, for its log lines and errors.
fn name(file: &Path) -> Result<PolicyName, Error> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("policy");
    let invalid = |error| Error::new(ErrorCode::InvalidEnvironment, error);
    PolicyName::new(stem).or_else(|_| PolicyName::new("policy")).map_err(invalid)
}
