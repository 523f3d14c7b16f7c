//! The memory of an intent, for the life of this process.

use std::collections::BTreeSet;
use std::time::Duration;

use ipnet::IpNet;

use super::{IntentProgress, StepFacts};
use crate::port::Ec2Interface;

/// The waits between attempts: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How soon a describe that has not shown what became of a call is repeated for the first time.
const FIRST_LOOK: Duration = Duration::from_secs(10);

/// The memory of an intent, for the life of this process.
#[derive(Debug, Clone, Default)]
pub struct IntentMemory {
    /// Whether a call's result is unknown, as after a restart.
    pub(super) is_unsure: bool,
    /// How long to wait before the next step.
    pub(super) pause: Option<Duration>,
    /// Whether EC2 is to be asked how things stand before the next call.
    pub(super) must_look: bool,
    /// The attempts in succession that came to nothing.
    pub(super) tries: u32,
    /// Since when it is unsure, or waits for something to appear or to disappear.
    pub(super) since: Option<Duration>,
    /// The device indexes that others have.
    pub(super) tried: BTreeSet<u32>,
    /// Why it cannot be done.
    pub(super) refused: Option<String>,
    /// The interface as it is now attached.
    pub(super) attached: Option<Box<Ec2Interface>>,
    /// The interface as the answers to calls of this process have it.
    pub(super) made: Option<Box<Ec2Interface>>,
    /// The time at which the interface had all that it needs to come, or at which its detaching was answered.
    pub(super) moves_since: Option<Duration>,
    /// Ranges that a call assigned.
    pub(super) assigned: Option<Vec<IpNet>>,
    /// Whether EC2 says that a call before has created it.
    pub(super) is_created: bool,
    /// Whether EC2 may be about to carry out a Detach: it has said so, or its answer is not known.
    pub(super) may_detach: bool,
    /// Whether what was to go is gone.
    pub(super) is_over: bool,
}

impl IntentMemory {
    /// Of an intent that has just begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Of an intent that was open when this process started, and had reached this.
    #[must_use]
    pub fn resumed(reached: &IntentProgress) -> Self {
        Self { is_unsure: true, must_look: true, may_detach: reached.asked, ..Self::default() }
    }

    /// The hardware address of the interface that it has made.
    #[must_use]
    pub fn mac(&self) -> Option<&str> {
        self.made.as_deref().map(|made| made.mac.as_str())
    }

    /// An attempt came to nothing: waits a second, and up to a quarter of a minute.
    pub(super) fn wait(&mut self) {
        let (first, longest) = PAUSES;
        self.pause = Some(first.saturating_mul(1 << self.tries.min(8)).min(longest));
        self.tries = self.tries.saturating_add(1);
    }

    /// A describe has not shown what became of a call: waits for the next. Describes that lag a little show it soon; that nothing was done is
    /// known only at the end of the window.
    pub(super) fn wait_in_window(&mut self, facts: &StepFacts) {
        let unsure = self.unsure_for(facts.now);
        let pause = unsure.saturating_mul(5).saturating_add(FIRST_LOOK);
        self.pause = Some(pause.min(facts.window.saturating_sub(unsure)));
    }

    /// Notes progress: the attempts are counted from zero again.
    pub(super) fn moved(&mut self) {
        self.tries = 0;
        self.since = None;
        self.must_look = false;
    }

    /// For how long it has been unsure, beginning now if it has not.
    pub(super) fn unsure_for(&mut self, now: Duration) -> Duration {
        now.saturating_sub(*self.since.get_or_insert(now))
    }
}
