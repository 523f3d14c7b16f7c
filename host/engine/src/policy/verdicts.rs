//! The comparison of two policies' answers to the same request, and the counts of many comparisons.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, Outcome, Request, Result};

use crate::difference::{Difference, Verdict};
use crate::ports::Again;

/// How many differences are kept as examples.
const MOST_EXAMPLES: usize = 16;

/// Time differences below this are noise.
const NOTICEABLE: Duration = Duration::from_micros(100);

/// A policy's decision: addresses, sorted, or an error's code. A proposal that the ledger rejects is an error.
pub(crate) type Decided = Result<Vec<IpAddr>, ErrorCode>;

impl Verdict {
    /// Compares a candidate's decision with that of the serving policy.
    pub(crate) fn of(served: &Decided, candidate: &Decided) -> Self {
        match (served, candidate) {
            (_, Err(ErrorCode::PolicyFailed | ErrorCode::ProposalRejected)) => Self::Failed,
            (Ok(served), Ok(candidate)) if served == candidate => Self::Same,
            (Ok(_), Ok(_)) => Self::OtherAddress,
            (Err(served), Err(candidate)) if served == candidate => Self::Same,
            _ => Self::OtherRefusal,
        }
    }
}

/// The counts of a shadow run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Decided the same.
    pub same: u64,
    /// Other addresses.
    pub other_address: u64,
    /// Other refusals.
    pub other_refusal: u64,
    /// Among the other refusals, those of the candidate; in the others, it answers what was refused.
    pub refused: u64,
    /// Failures of the candidate.
    pub failed: u64,
    /// Comparisons in which the candidate took more than twice the time, by a noticeable amount; counted in addition.
    pub slower: u64,
    /// The sum of the serving policy's times, and of the candidate's.
    pub took: (Duration, Duration),
    /// Differences, the latest first.
    pub examples: VecDeque<Difference>,
}

impl Verdicts {
    /// How many requests were compared.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.same + self.other_address + self.other_refusal + self.failed
    }

    /// Counts decisions that were made again; how long they took is not known.
    pub(crate) fn remember(&mut self, again: Again) {
        self.same += again.same;
        for difference in again.different {
            self.count(difference.verdict, Duration::ZERO, Duration::ZERO);
            self.keep(difference);
        }
    }

    /// Counts a comparison, with the time that each policy took.
    pub(crate) fn count(&mut self, verdict: Verdict, served: Duration, candidate: Duration) {
        match verdict {
            Verdict::Same => self.same += 1,
            Verdict::OtherAddress => self.other_address += 1,
            Verdict::OtherRefusal => self.other_refusal += 1,
            Verdict::Failed => self.failed += 1,
        }
        self.took.0 += served;
        self.took.1 += candidate;
        if candidate > served * 2 && candidate > served + NOTICEABLE {
            self.slower += 1;
        }
    }

    /// Keeps a difference as an example, and counts it if the candidate refuses.
    pub(crate) fn keep(&mut self, difference: Difference) {
        self.refused += u64::from(difference.refuses);
        self.examples.push_front(difference);
        self.examples.truncate(MOST_EXAMPLES);
    }
}

/// A decision in words.
pub(crate) fn told(decided: &Decided, error: Option<&tenure_types::Error>) -> String {
    match decided {
        Ok(addresses) => {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            addresses.join(", ")
        }
        Err(code) => match error {
            Some(error) => format!("{code}: {}", error.cause),
            None => code.to_string(),
        },
    }
}

/// A policy's answer in the form in which answers are compared.
pub(crate) fn decided(answer: &Result<Outcome>) -> Decided {
    match answer {
        Ok(Outcome { proposal, .. }) => {
            let mut addresses: Vec<_> =
                proposal.assignments.iter().map(|assigned| assigned.address).collect();
            addresses.sort_unstable();
            Ok(addresses)
        }
        Err(error) => Err(error.code),
    }
}

/// An answer, as the ledger will take it: a proposal that it would reject is an error.
pub(crate) fn checked(book: &Book, request: &Request, answer: Result<Outcome>) -> Result<Outcome> {
    let outcome = answer?;
    match book.check(request, &outcome.proposal) {
        Ok(()) => Ok(outcome),
        Err(violation) => Err(Error::new(ErrorCode::ProposalRejected, violation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_by_addresses_and_codes() {
        let one: Decided = Ok(vec!["10.0.0.1".parse().unwrap()]);
        let two: Decided = Ok(vec!["10.0.0.2".parse().unwrap()]);
        let [full, refused, failed, rejected]: [Decided; 4] = [
            Err(ErrorCode::PoolExhausted),
            Err(ErrorCode::PolicyRefused),
            Err(ErrorCode::PolicyFailed),
            Err(ErrorCode::ProposalRejected),
        ];
        for (served, candidate, verdict) in [
            (&one, &one, Verdict::Same),
            (&one, &two, Verdict::OtherAddress),
            (&one, &full, Verdict::OtherRefusal),
            (&full, &one, Verdict::OtherRefusal),
            (&full, &full, Verdict::Same),
            (&full, &refused, Verdict::OtherRefusal),
            (&one, &failed, Verdict::Failed),
            (&failed, &rejected, Verdict::Failed),
        ] {
            assert_eq!(Verdict::of(served, candidate), verdict, "{served:?} {candidate:?}");
        }
    }

    #[test]
    fn slowness_counts_in_addition_and_noise_does_not() {
        let (mut verdicts, us) = (Verdicts::default(), Duration::from_micros);
        for (served, candidate) in [(10, 15), (10, 90), (10, 110), (1000, 2000), (10, 111), (1000, 2001)] {
            verdicts.count(Verdict::Same, us(served), us(candidate));
        }
        assert_eq!((verdicts.same, verdicts.slower, verdicts.compared()), (6, 2, 6));
    }
}
