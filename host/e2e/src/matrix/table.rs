//! The table: a row for each situation, with a cell for each verb in [`Verb`]'s order.

use tenure_types::ErrorCode as E;

use super::{Cell, Situation, Verb};

const DONE: Cell = Cell::Done;
const NOTHING: Cell = Cell::Nothing;
const LATER: Cell = Cell::Later;
const FRESH: Cell = Cell::Fresh;
const DOUBTFUL: Cell = Cell::Doubtful;

const fn no(code: E) -> Cell {
    Cell::Refused(code)
}

const fn unsure(code: E) -> Cell {
    Cell::Unconfirmed(code)
}

const fn once(code: E) -> Cell {
    Cell::Once(code)
}

const fn overtaken(code: E) -> Cell {
    Cell::Overtaken(code)
}

/// The cells of a situation, in the order of [`Verb::ALL`]: a line for runtimes, one for agents, and for operators one each for
/// looking, releasing, defining, policies, and the rest.
#[must_use]
#[rustfmt::skip]
pub fn row(situation: Situation) -> [Cell; Verb::COUNT] {
    match situation {
        Situation::Calm
        | Situation::RunDirectoryGone
        | Situation::Shadowed
        | Situation::Exchanging
        | Situation::RuntimeSilent => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::Down => [
            no(E::Unavailable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), LATER, no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            DONE, no(E::Unreachable), no(E::Unreachable),
        ],
        Situation::Starting => [
            no(E::Unavailable), DONE, no(E::Preparing), DONE, DONE, DONE,
            no(E::Preparing), DONE, DONE, no(E::Preparing), DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, no(E::Preparing),
            DONE, DONE, DONE, no(E::Preparing), DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::Stopping => [
            no(E::Unavailable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), LATER, no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable), no(E::Unreachable),
            no(E::InputOutput), no(E::Unreachable), no(E::Unreachable),
        ],
        Situation::StateLost => [
            no(E::Unavailable), no(E::NotReady), no(E::NotReady), no(E::UnknownAttachment), LATER, LATER,
            no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady),
            DONE, DONE,
            no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady),
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::StateOlder => [
            no(E::Unavailable), no(E::NotReady), no(E::NotReady), no(E::NotReady), LATER, LATER,
            no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady), no(E::NotReady),
            DONE, DONE,
            DONE, DONE, DONE, DONE, no(E::NotReady), no(E::NotReady),
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::Rebooted => [
            DONE, FRESH, DONE, DONE, NOTHING, NOTHING,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            no(E::UnknownAddress), DONE, no(E::UnknownAddress), DONE, DONE, DONE,
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::ImportUnderWay | Situation::ImportCutOff => [
            no(E::Unavailable), DONE, no(E::NotTakenOver), DONE, DONE, DONE,
            no(E::NotTakenOver), DONE, DONE, no(E::NotTakenOver), DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::SourceGone => [
            no(E::Unavailable), no(E::NotTakenOver), no(E::NotTakenOver), no(E::UnknownAttachment), NOTHING, NOTHING,
            no(E::NotTakenOver), DONE, DONE, no(E::NotTakenOver), DONE, DONE,
            DONE, DONE,
            no(E::UnknownAddress), DONE, no(E::UnknownAddress), DONE, DONE, DONE,
            no(E::InputOutput), DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::NetworkRemoved => [
            DONE, FRESH, DONE, DONE, NOTHING, NOTHING,
            DONE, FRESH, NOTHING, FRESH, DONE, DONE,
            DONE, DONE,
            no(E::UnknownAddress), no(E::UnknownAddress), no(E::UnknownAddress), DONE, DONE, DONE,
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::PolicyLoading => [
            no(E::Unavailable), no(E::Preparing), no(E::Preparing), no(E::UnknownAttachment), NOTHING, NOTHING,
            no(E::UnknownNetwork), no(E::UnknownNetwork), NOTHING, no(E::UnknownNetwork), DONE, DONE,
            DONE, DONE,
            no(E::UnknownAddress), no(E::UnknownAddress), no(E::UnknownAddress), NOTHING, no(E::UnknownNetwork), no(E::UnknownAddress),
            no(E::Preparing), DONE, no(E::Preparing),
            DONE, no(E::UnknownNetwork), no(E::UnknownNetwork), no(E::UnknownNetwork), no(E::UnknownNetwork),
            no(E::InputOutput), DONE, DONE,
        ],
        Situation::Benched => [
            no(E::Unavailable), DONE, no(E::PolicyBenched), DONE, DONE, DONE,
            no(E::PolicyFailed), DONE, DONE, no(E::PolicyFailed), DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        // The address that is to be in quarantine is in no range any more.
        Situation::Draining => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, no(E::UnknownAddress), no(E::UnknownAddress),
            DOUBTFUL, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::AllCooling => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DOUBTFUL, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::PoolFull => [
            no(E::Unavailable), DONE, no(E::PoolExhausted), DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DOUBTFUL, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        // A network of a delegate has no ranges of its own.
        Situation::DelegateFailing => [
            no(E::Unavailable), DONE, no(E::DelegateUnavailable), no(E::DelegateUnavailable), DONE, DONE,
            no(E::DelegateUnavailable), DONE, DONE, no(E::DelegateUnavailable), DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, no(E::UnknownAddress), no(E::UnknownAddress),
            DOUBTFUL, DONE, no(E::OutOfBounds),
            DONE, DONE, no(E::InvalidConfig), no(E::NothingBefore), no(E::InvalidConfig),
            no(E::InputOutput), no(E::OutOfBounds), DONE,
        ],
        Situation::DiskFull => [
            no(E::Unavailable), no(E::DiskFull), no(E::DiskFull), DONE, DONE, DONE,
            no(E::DiskFull), DONE, DONE, no(E::DiskFull), DONE, DONE,
            DONE, DONE,
            DONE, DONE, DONE, DONE, no(E::DiskFull), no(E::UnknownAddress),
            no(E::DiskFull), DONE, no(E::DiskFull),
            no(E::DiskFull), no(E::UnknownPolicy), no(E::ShadowInconclusive), no(E::NothingBefore), no(E::DiskFull),
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::DiskFailing => [
            no(E::Unavailable), no(E::CheckpointFailed), unsure(E::CheckpointFailed), DONE, unsure(E::CheckpointFailed), unsure(E::CheckpointFailed),
            unsure(E::CheckpointFailed), no(E::CheckpointFailed), unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), no(E::CheckpointFailed), no(E::CheckpointFailed),
            DONE, DONE,
            unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), unsure(E::CheckpointFailed), no(E::CheckpointFailed), no(E::UnknownAddress),
            unsure(E::CheckpointFailed), DONE, no(E::CheckpointFailed),
            no(E::PolicyUnloadable), no(E::UnknownPolicy), no(E::ShadowInconclusive), no(E::NothingBefore), no(E::CheckpointFailed),
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
        Situation::TwoAtOnce => [
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE, DONE, DONE, DONE, DONE,
            DONE, DONE,
            overtaken(E::UnknownAddress), overtaken(E::UnknownAddress), overtaken(E::UnknownAddress), DONE, DONE, overtaken(E::UnknownAddress),
            DONE, DONE, DONE,
            DONE, DONE, once(E::ShadowInconclusive), overtaken(E::NothingBefore), DONE,
            no(E::InputOutput), no(E::NetworkInUse), DONE,
        ],
    }
}
