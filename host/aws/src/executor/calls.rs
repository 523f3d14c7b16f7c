//! Calls of EC2 within the budget, each sent once.

use std::time::Duration;

use super::core::{AwsCore, Described};
use crate::budget::Unit;
use crate::metadata::{AttachedInterfaces, MetadataError};
use crate::port::{Call, CallError, Failure, Which};
use crate::seen::Look;

/// The subnet of a call, and the resource that the call takes from it.
pub(super) type Place = Option<(String, Unit)>;

/// The call that describes interfaces.
const LOOK: &str = "DescribeNetworkInterfaces";

impl AwsCore {
    /// Makes a call once the budget allows it, and remembers what became of it.
    pub(super) async fn call<'a, T>(
        &self,
        action: &'static str,
        place: Place,
        send: impl FnOnce() -> Call<'a, T>,
    ) -> Result<T, CallError> {
        loop {
            let admitted = self.state().budget.admit(action, self.now());
            match admitted {
                Ok(()) => break,
                Err(wait) => self.tools.sleep(wait).await,
            }
        }
        self.made(action, place, send).await
    }

    /// Makes a call that takes something away, for which the witnesses were asked right before.
    ///
    /// # Errors
    /// `Throttled` also if the budget does not allow it at this moment: after a wait, what the witnesses have said would be old.
    pub(super) async fn take<'a>(
        &self,
        action: &'static str,
        send: impl FnOnce() -> Call<'a, ()>,
    ) -> Result<(), CallError> {
        let admitted = self.state().budget.admit(action, self.now());
        match admitted {
            Ok(()) => self.made(action, None, send).await,
            Err(_) => Err(not_sent(action, "other calls were made first")),
        }
    }

    /// Waits until the budget allows a call.
    pub(super) async fn until_allowed(&self, action: &'static str) {
        loop {
            let lacks = self.state().budget.lacks(action, self.now());
            match lacks {
                None => return,
                Some(wait) => self.tools.sleep(wait).await,
            }
        }
    }

    /// Makes a call, and remembers what became of it.
    async fn made<'a, T>(
        &self,
        action: &'static str,
        place: Place,
        send: impl FnOnce() -> Call<'a, T>,
    ) -> Result<T, CallError> {
        let answer = send().await;
        let now = self.now();
        let mut state = self.state();
        let place = place.as_ref().map(|(subnet, unit)| (subnet.as_str(), *unit));
        state.silences.called(action, answer.as_ref().err(), now);
        let outcome = match &answer {
            Ok(_) => {
                state.budget.succeeded(action, place, now);
                "ok"
            }
            Err(error) => {
                state.budget.failed(error, place, now);
                tracing::warn!(action, failure = ?error.failure, code = error.code, message = error.message, "EC2 did not do it");
                error.failure.name()
            }
        };
        *state.calls.entry((action, outcome)).or_default() += 1;
        answer
    }

    /// Notes a call that somebody else has made in vain.
    pub(super) fn hear_of_failure(&self, error: &CallError) {
        let now = self.now();
        let mut state = self.state();
        state.silences.called(error.action, Some(error), now);
        state.budget.failed(error, None, now);
        *state.calls.entry((error.action, error.failure.name())).or_default() += 1;
    }

    /// Notes that such a call of somebody else is no longer in vain.
    pub(super) fn hear_of_success(&self, action: &'static str) {
        let now = self.now();
        let mut state = self.state();
        state.silences.called(action, None, now);
        state.budget.forgive(action);
    }

    /// Describes interfaces.
    pub(super) async fn describe(&self, which: &Which) -> Result<Described, CallError> {
        let mut asked = Duration::ZERO;
        let send = || {
            asked = self.now();
            self.ec2.interfaces(which)
        };
        let answer = self.call(LOOK, None, send).await;
        answer.map(|shown| (shown, asked))
    }

    /// Asks what the node has: EC2, or the metadata service if EC2 must never be called. Whether the answer counts.
    pub(super) async fn see(&self) -> bool {
        let is_imds_only = self.state().settings.imds_only;
        let answer = if is_imds_only {
            self.see_metadata().await.map_err(|error| error.to_string())
        } else {
            let which = Which::Attached(self.config.instance.clone());
            self.describe(&which).await.map_err(|error| error.to_string())
        };
        match answer {
            Ok((shown, asked)) => {
                let mut state = self.state();
                let look = state.seen.described(&shown, asked);
                let odd = match &look {
                    Look::Full => None,
                    Look::Suspicious(why) => {
                        tracing::warn!(why, "an answer of EC2 changes nothing");
                        Some(format!("EC2's answer does not count: {why}"))
                    }
                };
                state.silences.believed(LOOK, odd);
                look == Look::Full
            }
            Err(why) => {
                let mut state = self.state();
                // What became of a call of EC2 is noted there.
                state.silences.believed(LOOK, is_imds_only.then(|| why.clone()));
                state.seen.failed(why);
                false
            }
        }
    }

    /// Asks the metadata service what the node has, and which subnets that is in.
    async fn see_metadata(&self) -> Result<Described, MetadataError> {
        let asked = self.now();
        let AttachedInterfaces { interfaces, subnets } = self.metadata.attached().await?;
        self.state().know_subnets(subnets);
        Ok((interfaces, asked))
    }
}

/// The error of a call that takes something away and was not made: the witnesses are asked again before it is.
pub(super) fn not_sent(action: &'static str, message: &str) -> CallError {
    CallError {
        action,
        failure: Failure::Throttled,
        code: "NotSent".to_owned(),
        message: message.to_owned(),
        retry_after: None,
    }
}
