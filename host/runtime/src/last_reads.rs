//! The last reads before addresses are freed: whether the proof still holds where the API server's word, or that of a newer sandbox, is half of it.

use std::time::Duration;

use tenure_types::Allocation;
use tokio::time::{Instant, timeout_at};

use crate::{SandboxEvidence, Sandboxes, WitnessVerdict};

/// The longest that the reads of one look may take together. What is not read by then is read at the next look.
const LONGEST: Duration = Duration::from_secs(10);

/// The outcome of a last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastRead {
    /// The sandbox is gone.
    Gone,
    /// Not proven any more, so the grace period begins again.
    Unproven,
    /// The API server was not asked, or has not answered in time.
    Unread,
}

/// The last reads of one look.
pub(crate) struct LastReads<'a> {
    sandboxes: &'a Sandboxes,
    deadline: Instant,
    /// Whether the API server has left a question without an answer. It gets no more of them.
    is_silent: bool,
}

impl<'a> LastReads<'a> {
    /// The deadline is counted from now.
    pub(crate) fn new(sandboxes: &'a Sandboxes) -> Self {
        Self { sandboxes, deadline: Instant::now() + LONGEST, is_silent: false }
    }

    /// Looks whether a sandbox is gone; `evidence` is that of a moment ago, without the API server's.
    pub(crate) async fn read(&mut self, held: &Allocation, evidence: SandboxEvidence) -> LastRead {
        let with_pod = |pod| SandboxEvidence { pod, ..evidence };
        if !with_pod(WitnessVerdict::Absent).proves_gone() {
            return LastRead::Unproven;
        }
        // With a newer sandbox of the same pod, the API server has the pod.
        if evidence.proves_gone() {
            return LastRead::Gone;
        }
        let Some((pods, pod)) = self.sandboxes.pods().zip(held.pod()) else { return LastRead::Unproven };
        if self.is_silent {
            return LastRead::Unread;
        }
        let answer = timeout_at(self.deadline, pods.confirm(pod)).await;
        self.is_silent = !matches!(answer, Ok(WitnessVerdict::Absent | WitnessVerdict::Present));
        match answer {
            Ok(WitnessVerdict::Absent) => LastRead::Gone,
            Ok(WitnessVerdict::Present | WitnessVerdict::Unknown) => LastRead::Unproven,
            Err(_) => LastRead::Unread,
        }
    }
}
