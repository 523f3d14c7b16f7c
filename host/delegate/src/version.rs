//! Which version of the specification a delegate speaks.

use serde::Deserialize;
use tenure_types::cni::SpecVersion;

use crate::answer::started;
use crate::exchange::Printed;
use crate::failure::CallFailure;
use crate::text::clean;

/// The input of the question.
pub(crate) const QUESTION: &[u8] = br#"{"cniVersion":"1.0.0"}"#;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionAnswer {
    supported_versions: Vec<String>,
}

/// The newest version that both sides speak.
pub(crate) fn newest(printed: &Printed) -> Result<SpecVersion, CallFailure> {
    started(printed)?;
    let nonsense = |why: String| CallFailure::Nonsense(format!("its answer to VERSION is invalid: {why}"));
    let answer: VersionAnswer = serde_json::from_slice(&printed.output).map_err(|error| {
        let said = clean(if printed.output.is_empty() { &printed.errors } else { &printed.output });
        nonsense(format!("{error}; it printed {said:?}"))
    })?;
    let both = answer.supported_versions.iter().filter(|text| !text.is_empty());
    let both = both.filter_map(|text| SpecVersion::find(text)).max();
    both.ok_or_else(|| nonsense(format!("it supports {:?}", answer.supported_versions)))
}
