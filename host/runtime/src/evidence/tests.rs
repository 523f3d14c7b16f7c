use super::SandboxStanding::{Ending, Gone, Lives, Unconfirmed};
use super::WitnessVerdict::{Absent, Present, Unknown};
use super::*;

const ALL: [WitnessVerdict; 3] = [Present, Absent, Unknown];

/// Each combination of verdicts.
fn combinations() -> Vec<SandboxEvidence> {
    let pairs = ALL.into_iter().flat_map(|namespace| ALL.map(|runtime| (namespace, runtime)));
    pairs
        .flat_map(|(namespace, runtime)| ALL.map(|pod| SandboxEvidence { namespace, runtime, pod }))
        .collect()
}

#[test]
fn each_row_of_the_table_is_as_it_says() {
    let (listed, exists) = ("the container runtime lists its sandbox", "its network namespace exists");
    for evidence in combinations() {
        let (standing, contradiction) = match (evidence.namespace, evidence.runtime, evidence.pod) {
            (Present, Present, _) | (Unknown, Present, _) => (Lives, Some(listed)),
            (Present, _, _) => (Lives, Some(exists)),
            (Absent, Present, _) => (Ending, Some(listed)),
            (Absent, Unknown, _) | (Unknown, Unknown, Absent) => (Unconfirmed, None),
            (Absent, Absent, _) | (Unknown, Absent, Absent) => (Gone, None),
            (Unknown, Absent | Unknown, _) => (SandboxStanding::Unknown, None),
        };
        let found = (evidence.standing(), evidence.proves_gone(), evidence.contradiction());
        assert_eq!(found, (standing, standing == Gone, contradiction), "{evidence:?}");
    }
}

#[test]
fn a_proof_is_the_runtimes_word_and_one_more() {
    for evidence in combinations() {
        let absent = [evidence.namespace, evidence.pod].contains(&Absent);
        let is_proof = evidence.runtime == Absent && absent && evidence.namespace != Present;
        assert_eq!(evidence.proves_gone(), is_proof, "{evidence:?}");
    }
}

#[test]
fn one_witness_alone_makes_doubtful_and_never_while_another_assures() {
    for evidence in combinations() {
        let doubted = [false, true].map(|is_imported| evidence.doubt(is_imported).is_some());
        let expected = match (evidence.namespace, evidence.runtime, evidence.pod) {
            (_, _, Absent) if !evidence.proves_gone() => [true, true],
            (Absent, Unknown, _) | (Unknown, Absent, Present) => [true, true],
            (Unknown, Absent, Unknown) => [false, true],
            _ => [false, false],
        };
        assert_eq!(doubted, expected, "{evidence:?}");
        assert!(!(evidence.assurance().is_some() && doubted[1]), "both: {evidence:?}");
    }
}
