//! Makes recorded decisions again, with any policy.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode};

use super::answer;
use super::bindings::tenure::ipam::types::{Config, Request};
use super::call::Patience;
use super::optional::{call_migrate, writer};
use super::policy::WasmPolicy;
use super::recording::Recording;
use super::sight::CallView;
use super::verdict::CallVerdict;
use crate::decisions::{DecisionOutcome, Function, RecordedDecision};

impl WasmPolicy {
    /// Makes a decision again: gives this policy what was given then, and answers its questions from the record: those that were asked
    /// then as they were answered then, all others from `book`, the network as it was
    /// ([`RecordedBooks::at`](crate::decisions::RecordedBooks::at)).
    ///
    /// The policy that was recorded decides the same, to the bit, in a sandbox with the same limits; only a call that
    /// failed for its processor time may end otherwise.
    ///
    /// # Errors
    /// `InputOutput` if the record does not have the form of this version's interface.
    pub fn replay(
        &self,
        decision: &RecordedDecision,
        book: Option<&Arc<Book>>,
    ) -> Result<DecisionOutcome, Error> {
        let wrong = |error: serde_json::Error| {
            Error::new(ErrorCode::InputOutput, format_args!("decision {}: {error}", decision.number))
        };
        let given = decision.given.clone();
        let asked = || decision.asked.clone();
        let sight = || CallView::Recording(Arc::new(Recording::of_proposal(asked(), book.cloned())));
        let _place = self.sandbox().gate().enter();
        let outcome = match decision.function {
            Function::Propose | Function::ProposeWithState => {
                let request: Request = serde_json::from_value(given).map_err(wrong)?;
                let state = decision.given_state().map_err(|error| {
                    let cause = format_args!("decision {}: its state: {error}", decision.number);
                    Error::new(ErrorCode::InputOutput, cause)
                })?;
                match self.taken_over(decision, state, sight()) {
                    Err(outcome) => outcome,
                    Ok(state) => {
                        let mut store = self.store(sight(), Patience::Long(None));
                        let ended = self.call_propose(&mut store, &request, &state);
                        let proposed = |outcome| self.proposed(outcome);
                        self.judge(store.data(), &ended, answer::outcome, proposed).0.outcome()
                    }
                }
            }
            Function::Define => {
                let config: Arc<Config> = Arc::new(serde_json::from_value(given).map_err(wrong)?);
                let recording = Arc::new(Recording::of_definition(asked(), Arc::clone(&config)));
                let mut store = self.store(CallView::Recording(recording), Patience::Long(None));
                let ended = self.call_define(&mut store, &config);
                self.judge(store.data(), &ended, answer::definition, CallVerdict::Definition).0.outcome()
            }
        };
        outcome.map_err(wrong)
    }

    /// The recorded state as this policy would have it if it had taken over just then; otherwise why it could not.
    fn taken_over(
        &self,
        decision: &RecordedDecision,
        state: Vec<u8>,
        sight: CallView,
    ) -> Result<Vec<u8>, serde_json::Result<DecisionOutcome>> {
        let Some(stateful) = self.stateful() else { return Ok(Vec::new()) };
        if state.is_empty() || *decision.digest == *self.stamp().digest {
            return Ok(state);
        }
        let from = writer(&decision.policy, &decision.digest);
        let mut store = self.store(sight, Patience::Long(None));
        let ended = call_migrate(stateful, &mut store, &state, &from);
        let migrated = |state: &Vec<u8>| answer::state(state).map(|state| state.to_vec());
        // What is migrated is not an outcome of its own.
        let (verdict, migrated) =
            self.judge(store.data(), &ended, migrated, |_| CallVerdict::NotRecorded(String::new()));
        migrated.map_err(|_| verdict.outcome())
    }
}
