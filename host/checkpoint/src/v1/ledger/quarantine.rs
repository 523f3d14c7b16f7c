//! The marks of quarantine, as they are stored. Programs before 1.10 do not know it.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tenure_ledger::{QuarantineMark, QuarantineSubject};
use tenure_types::Generation;

use crate::v1::range::StoredMoment;

/// The subject of a quarantine: exactly one of its fields is present.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StoredSubject {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
}

/// The reason for a quarantine, and its beginning.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredMark<'a> {
    since: StoredMoment,
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

/// The quarantine of a subject.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredQuarantine<'a> {
    of: StoredSubject,
    #[serde(borrow)]
    mark: StoredMark<'a>,
}

impl From<QuarantineSubject> for StoredSubject {
    fn from(subject: QuarantineSubject) -> Self {
        match subject {
            QuarantineSubject::Address(address) => Self { address: Some(address), generation: None },
            QuarantineSubject::Allocation(generation) => {
                Self { address: None, generation: Some(generation.0) }
            }
        }
    }
}

impl TryFrom<StoredSubject> for QuarantineSubject {
    type Error = String;

    fn try_from(stored: StoredSubject) -> Result<Self, String> {
        match (stored.address, stored.generation) {
            (Some(address), None) => Ok(Self::Address(address)),
            (None, Some(generation)) => Ok(Self::Allocation(Generation(generation))),
            _ => Err("a quarantine is either of an address or of an allocation".to_owned()),
        }
    }
}

impl<'a> From<&'a QuarantineMark> for StoredMark<'a> {
    fn from(QuarantineMark { since, reason }: &'a QuarantineMark) -> Self {
        Self { since: (*since).into(), reason: (&**reason).into() }
    }
}

impl From<StoredMark<'_>> for QuarantineMark {
    fn from(StoredMark { since, reason }: StoredMark<'_>) -> Self {
        Self { since: since.into(), reason: (&*reason).into() }
    }
}

impl<'a> From<&'a (QuarantineSubject, QuarantineMark)> for StoredQuarantine<'a> {
    fn from((subject, mark): &'a (QuarantineSubject, QuarantineMark)) -> Self {
        Self { of: (*subject).into(), mark: mark.into() }
    }
}

impl TryFrom<StoredQuarantine<'_>> for (QuarantineSubject, QuarantineMark) {
    type Error = String;

    fn try_from(StoredQuarantine { of, mark }: StoredQuarantine<'_>) -> Result<Self, String> {
        Ok((of.try_into()?, mark.into()))
    }
}
