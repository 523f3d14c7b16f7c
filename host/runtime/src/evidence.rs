//! Evidence about the sandbox of an allocation, and the actions that it permits.
//!
//! Three witnesses say whether a sandbox, or its pod, exists. Each may err in a way of its own, so none proves alone that it is gone:
//!
//! | witness | present | absent | errs |
//! |---|---|---|---|
//! | the network namespace | its path is a namespace | nothing is at the path, in the directory of the request that made it | a path may have been mounted over, or be out of sight of this daemon; then it is unknown |
//! | the container runtime | it lists the container | it answered, and does not list it | a runtime does not know the containers of another one; one that does not answer, or is not configured, leaves it unknown |
//! | the API server, about the pod | it has the pod, with its uid | it answered a read of its own that there is no such pod, that it has another uid, or that it has finished; or the runtime lists a newer sandbox of the same pod | a pod that was deleted by force goes on running; an API server that does not answer, or refuses, leaves it unknown, as does a static pod without a mirror |
//!
//! From their verdicts follows one [`SandboxStanding`], and from that what may be done. [`SandboxEvidence::standing`] is this table:
//!
//! | namespace | runtime | pod | standing | the daemon | `check` reports | `release` without `--force` | `repair` | quarantine after a while |
//! |---|---|---|---|---|---|---|---|---|
//! | present | any | any | lives | waits for the DEL | nothing, or `pod-gone` | refuses | keeps | lifted; begins if the pod is absent |
//! | unknown | present | any | lives | waits for the DEL | nothing, or `pod-gone` | refuses | keeps | lifted; begins if the pod is absent |
//! | absent | present | any | ending | waits for the DEL | `namespace-gone` | refuses | keeps | lifted; begins if the pod is absent |
//! | absent | unknown | any | unconfirmed | waits for the DEL or a GC | `namespace-gone` | releases | keeps | begins |
//! | absent | absent | any | gone | frees it after the grace period | `sandbox-gone` | releases | releases | stays |
//! | unknown | absent | absent | gone | frees it after the grace period | `sandbox-gone` | releases | releases | stays |
//! | unknown | absent | present | unknown | waits for the DEL or a GC | `container-gone`, if it was imported | releases | keeps | begins |
//! | unknown | absent | unknown | unknown | waits for the DEL or a GC | `container-gone`, if it was imported | releases | keeps | begins, if it was imported |
//! | unknown | unknown | absent | unconfirmed | waits for the DEL or a GC | `pod-gone` | releases | keeps | begins |
//! | unknown | unknown | present or unknown | unknown | waits for the DEL or a GC | nothing | releases | keeps | stays |
//!
//! Unknown never means absent: only what is gone is freed without a caller's word. The runtime's word is always needed, since a container may
//! outlive both its pod's object and its namespace's path; the namespace or the pod is the second half of the proof. An operator's release
//! needs no proof, since the operator gives it; it is refused only if a witness of the sandbox itself contradicts. A runtime that does not
//! list a sandbox contradicts no namespace that exists: the namespace may be another runtime's.
//!
//! A reboot is not a witness here. It ends all sandboxes, and recovery ends their allocations before anything is served, so every
//! allocation that is looked for is of this boot.

/// The testimony of one witness about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WitnessVerdict {
    /// The sandbox exists.
    Present,
    /// The sandbox does not exist.
    Absent,
    /// The witness cannot tell, or is not configured.
    Unknown,
}

/// The testimony of all witnesses about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxEvidence {
    /// From its network namespace.
    pub namespace: WitnessVerdict,
    /// From the container runtime's list.
    pub runtime: WitnessVerdict,
    /// From the API server, about the pod.
    pub pod: WitnessVerdict,
}

/// The conclusion about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxStanding {
    /// A witness reports the sandbox, and its namespace is not known to be gone.
    Lives,
    /// The namespace is gone, but the runtime lists the sandbox: it is being ended, or could not be.
    Ending,
    /// The namespace or the pod is gone, and no runtime reports on the sandbox.
    Unconfirmed,
    /// The sandbox is proven gone.
    Gone,
    /// No witness has seen it.
    Unknown,
}

impl SandboxEvidence {
    /// The evidence about an owner without a sandbox.
    pub const NONE: Self = Self {
        namespace: WitnessVerdict::Unknown,
        runtime: WitnessVerdict::Unknown,
        pod: WitnessVerdict::Unknown,
    };

    /// The conclusion, as in the table above.
    #[must_use]
    pub fn standing(self) -> SandboxStanding {
        use WitnessVerdict::{Absent, Present, Unknown};
        match (self.namespace, self.runtime, self.pod) {
            (Present, _, _) | (Unknown, Present, _) => SandboxStanding::Lives,
            (Absent, Present, _) => SandboxStanding::Ending,
            (Absent, Absent, _) | (Unknown, Absent, Absent) => SandboxStanding::Gone,
            (Absent, Unknown, _) | (Unknown, Unknown, Absent) => SandboxStanding::Unconfirmed,
            (Unknown, Absent | Unknown, Present | Unknown) => SandboxStanding::Unknown,
        }
    }

    /// Whether the sandbox is proven gone, so that its allocation may be freed without its caller's word.
    #[must_use]
    pub fn proves_gone(self) -> bool {
        self.standing() == SandboxStanding::Gone
    }

    /// The reason, for people, for which the owner is doubtful: one witness alone reports its sandbox, or its pod, as gone. The runtime
    /// alone is believed only if the API server has the pod, or about what `is_imported`: an ADD that is under way has no container yet,
    /// and no ADD is under way for as long as a doubt takes.
    #[must_use]
    pub fn doubt(self, is_imported: bool) -> Option<&'static str> {
        use WitnessVerdict::{Absent, Present, Unknown};
        if self.proves_gone() {
            return None;
        }
        match (self.namespace, self.runtime, self.pod) {
            (Absent, Unknown, _) => {
                Some("its network namespace is gone, and the container runtime does not answer")
            }
            (_, Present, Absent) => Some(
                "the API server has no such pod, or it has finished, but the container runtime lists its sandbox",
            ),
            (Present, _, Absent) => {
                Some("the API server has no such pod, or it has finished, but its network namespace exists")
            }
            (Unknown, Unknown, Absent) => Some(
                "the API server has no such pod, or it has finished, and the container runtime does not answer",
            ),
            (Unknown, Absent, Present) => {
                Some("the container runtime does not list its container, but the API server has its pod")
            }
            (Unknown, Absent, Unknown) if is_imported => Some(
                "the container runtime does not list its container, and its network namespace is not known",
            ),
            _ => None,
        }
    }

    /// The testimony, for people, that ends a doubt: a witness of the sandbox speaks for it, and none says that it is gone.
    #[must_use]
    pub fn assurance(self) -> Option<&'static str> {
        self.contradiction().filter(|_| self.pod != WitnessVerdict::Absent)
    }

    /// The testimony, for people, that contradicts an operator who releases the allocation; `None` if nothing does.
    #[must_use]
    pub fn contradiction(self) -> Option<&'static str> {
        match self.standing() {
            SandboxStanding::Lives | SandboxStanding::Ending => match self.runtime {
                WitnessVerdict::Present => Some("the container runtime lists its sandbox"),
                WitnessVerdict::Absent | WitnessVerdict::Unknown => Some("its network namespace exists"),
            },
            SandboxStanding::Unconfirmed | SandboxStanding::Gone | SandboxStanding::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests;
