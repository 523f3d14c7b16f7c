//! Evidence about the sandbox of an allocation, and the actions that it permits.
//!
//! Two witnesses say whether a sandbox exists. Each may err in a way of its own, so neither proves alone that it is gone:
//!
//! | witness | present | absent | errs |
//! |---|---|---|---|
//! | the network namespace | its path is a namespace | nothing is at the path, in the directory of the request that made it | a path may have been mounted over, or be out of sight of this daemon; then it is unknown |
//! | the container runtime | it lists the container | it answered, and does not list it | a runtime does not know the containers of another one; one that does not answer, or is not configured, leaves it unknown |
//!
//! From both verdicts follows one [`SandboxStanding`], and from that what may be done. [`SandboxEvidence::standing`] is this table:
//!
//! | namespace | runtime | standing | the daemon | `check` reports | `release` without `--force` | `repair` | quarantine after a while |
//! |---|---|---|---|---|---|---|---|
//! | present | any | lives | waits for the DEL | nothing | refuses | keeps | lifted |
//! | unknown | present | lives | waits for the DEL | nothing | refuses | keeps | lifted |
//! | absent | present | ending | waits for the DEL | `namespace-gone` | refuses | keeps | lifted |
//! | absent | unknown | unconfirmed | waits for the DEL or a GC | `namespace-gone` | releases | keeps | begins |
//! | absent | absent | gone | frees it after the grace period | `sandbox-gone` | releases | releases | stays |
//! | unknown | absent | unknown | waits for the DEL or a GC | `container-gone`, if it was imported | releases | keeps | begins, if it was imported |
//! | unknown | unknown | unknown | waits for the DEL or a GC | nothing | releases | keeps | stays |
//!
//! Unknown never means absent: only what is gone is freed without a caller's word. An operator's release needs no proof, since the
//! operator gives it; it is refused only if a witness contradicts. A runtime that does not list a sandbox contradicts no namespace
//! that exists: the namespace may be another runtime's.
//!
//! A reboot is not a witness here. It ends all sandboxes, and recovery ends their allocations before anything is served, so every
//! allocation that is looked for is of this boot. Another witness, such as the API of a cluster, is a field of
//! [`SandboxEvidence`] and a column of the table.

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
}

/// The conclusion about a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxStanding {
    /// A witness reports the sandbox, and its namespace is not known to be gone.
    Lives,
    /// The namespace is gone, but the runtime lists the sandbox: it is being ended, or could not be.
    Ending,
    /// The namespace is gone, and no runtime reports on the sandbox.
    Unconfirmed,
    /// The sandbox is proven gone.
    Gone,
    /// No witness has seen it.
    Unknown,
}

impl SandboxEvidence {
    /// The evidence about an owner without a sandbox.
    pub const NONE: Self = Self { namespace: WitnessVerdict::Unknown, runtime: WitnessVerdict::Unknown };

    /// The conclusion, as in the table above.
    #[must_use]
    pub fn standing(self) -> SandboxStanding {
        use WitnessVerdict::{Absent, Present, Unknown};
        match (self.namespace, self.runtime) {
            (Present, _) | (Unknown, Present) => SandboxStanding::Lives,
            (Absent, Present) => SandboxStanding::Ending,
            (Absent, Unknown) => SandboxStanding::Unconfirmed,
            (Absent, Absent) => SandboxStanding::Gone,
            (Unknown, Absent | Unknown) => SandboxStanding::Unknown,
        }
    }

    /// Whether the sandbox is proven gone, so that its allocation may be freed without its caller's word.
    #[must_use]
    pub fn proves_gone(self) -> bool {
        self.standing() == SandboxStanding::Gone
    }

    /// The reason, for people, for which the owner is doubtful: one witness alone reports its sandbox as gone. The runtime alone is
    /// believed only about what `is_imported`, since an ADD that is under way has no container yet.
    #[must_use]
    pub fn doubt(self, is_imported: bool) -> Option<&'static str> {
        match self.standing() {
            SandboxStanding::Unconfirmed => {
                Some("its network namespace is gone, and the container runtime does not answer")
            }
            SandboxStanding::Unknown if self.runtime == WitnessVerdict::Absent && is_imported => Some(
                "the container runtime does not list its container, and its network namespace is not known",
            ),
            SandboxStanding::Lives
            | SandboxStanding::Ending
            | SandboxStanding::Gone
            | SandboxStanding::Unknown => None,
        }
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
mod tests {
    use super::SandboxStanding::{Ending, Gone, Lives, Unconfirmed};
    use super::WitnessVerdict::{Absent, Present, Unknown};
    use super::*;

    #[test]
    fn each_row_of_the_table_is_as_it_says() {
        let (listed, exists) = ("the container runtime lists its sandbox", "its network namespace exists");
        let rows = [
            (Present, Present, Lives, false, Some(listed)),
            (Present, Absent, Lives, false, Some(exists)),
            (Present, Unknown, Lives, false, Some(exists)),
            (Unknown, Present, Lives, false, Some(listed)),
            (Absent, Present, Ending, false, Some(listed)),
            (Absent, Unknown, Unconfirmed, false, None),
            (Absent, Absent, Gone, true, None),
            (Unknown, Absent, SandboxStanding::Unknown, false, None),
            (Unknown, Unknown, SandboxStanding::Unknown, false, None),
        ];
        for (namespace, runtime, standing, is_gone, contradiction) in rows {
            let evidence = SandboxEvidence { namespace, runtime };
            let found = (evidence.standing(), evidence.proves_gone(), evidence.contradiction());
            assert_eq!(found, (standing, is_gone, contradiction), "{evidence:?}");
        }
        for (namespace, runtime, ..) in rows {
            let evidence = SandboxEvidence { namespace, runtime };
            let doubted = [false, true].map(|is_imported| evidence.doubt(is_imported).is_some());
            let expected = match (namespace, runtime) {
                (Absent, Unknown) => [true, true],
                (Unknown, Absent) => [false, true],
                _ => [false, false],
            };
            assert_eq!(doubted, expected, "{evidence:?}");
        }
        let all: Vec<_> = rows.iter().map(|row| (row.0, row.1)).collect();
        let pairs =
            [Present, Absent, Unknown].map(|first| [Present, Absent, Unknown].map(|second| (first, second)));
        assert!(pairs.as_flattened().iter().all(|pair| all.contains(pair)), "a row for each pair");
    }
}
