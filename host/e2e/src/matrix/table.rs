//! The table: a row for each situation, with a cell for each verb in [`Verb`]'s order.

use tenure_types::ErrorCode as E;

use super::{Cell, Situation, Verb};

const DONE: Cell = Cell::Done;
const NOTHING: Cell = Cell::Nothing;
const LATER: Cell = Cell::Later;
const DOUBTFUL: Cell = Cell::Doubtful;

const fn no(code: E) -> Cell {
    Cell::Refused(code)
}

const fn unsure(code: E) -> Cell {
    Cell::Unconfirmed(code)
}

/// The cells of a situation, in the order of [`Verb::ALL`]: a line for runtimes, one for agents, and three for operators.
#[must_use]
#[rustfmt::skip]
pub fn row(situation: Situation) -> [Cell; Verb::COUNT] {
    match situation {
        Situation::Calm => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::Down => [
            no(E::Unavailable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), LATER, no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            DONE, no(E::Unreachable), no(E::Unreachable),
        ],
        Situation::Stopping => [
            no(E::Unavailable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), LATER, no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::InputOutput), no(E::Unreachable), no(E::Unreachable),
        ],
        Situation::ImportUnderWay => [
            no(E::Unavailable), DONE, no(E::NotTakenOver), DONE, DONE, DONE,
            no(E::NotTakenOver), DONE, DONE, no(E::NotTakenOver), DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::ImportCutOff => [
            no(E::Unavailable), DONE, no(E::NotTakenOver), DONE, DONE, DONE,
            no(E::NotTakenOver), DONE, DONE, no(E::NotTakenOver), DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::SourceGone => [
            no(E::Unavailable), no(E::NotTakenOver), no(E::NotTakenOver), no(E::UnknownAttachment), NOTHING, NOTHING,
            no(E::NotTakenOver), DONE, DONE, no(E::NotTakenOver), DONE, DONE,
            DONE, DONE, no(E::UnknownAddress), DONE, no(E::InputOutput), DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::PolicyLoading => [
            no(E::Unavailable), no(E::NotReady), no(E::NotReady), no(E::UnknownAttachment), NOTHING, NOTHING,
            no(E::UnknownNetwork), no(E::UnknownNetwork), NOTHING, no(E::UnknownNetwork), DONE, DONE,
            DONE, DONE, no(E::UnknownAddress), NOTHING, no(E::DeadlineExceeded), DONE, no(E::DeadlineExceeded),
            DONE, no(E::UnknownNetwork), no(E::UnknownNetwork), no(E::UnknownNetwork), no(E::UnknownNetwork),
            no(E::InputOutput), DONE, DONE,
        ],
        Situation::Shadowed => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::Exchanging => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::PoolFull => [
            no(E::Unavailable), DONE, no(E::PoolExhausted), DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DOUBTFUL, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::DiskFull => [
            no(E::Unavailable), no(E::DiskFull), no(E::DiskFull), DONE, DONE, DONE,
            no(E::DiskFull), DONE, DONE, no(E::DiskFull), DONE, DONE,
            DONE, DONE, DONE, DONE, no(E::DiskFull), DONE, no(E::DiskFull),
            no(E::PolicyUnloadable), no(E::UnknownPolicy), no(E::ShadowInconclusive), no(E::NothingBefore), no(E::DiskFull),
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::DiskFailing => [
            no(E::Unavailable), no(E::CheckpointFailed), unsure(E::CheckpointFailed), DONE, unsure(E::CheckpointFailed), unsure(E::CheckpointFailed),
            unsure(E::CheckpointFailed), no(E::CheckpointFailed), unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), no(E::CheckpointFailed), no(E::CheckpointFailed),
            DONE, DONE, unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), DONE, no(E::CheckpointFailed),
            no(E::PolicyUnloadable), no(E::UnknownPolicy), no(E::ShadowInconclusive), no(E::NothingBefore), no(E::CheckpointFailed),
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
    }
}
