//! Steps with a JSON object, which may go on for several lines: `network` and `plan`.

use serde::de::IgnoredAny;

use super::step::CaseStep;
use super::{CaseSituation, ExpectedOutcome, ExpectedPlan};

/// A step with an object.
pub(super) struct LongStep<'a> {
    plans: bool,
    /// The object; empty if there is none, which only `plan` may do without.
    json: &'a str,
    /// The words behind the object; effects may go on for several lines, of which each but the last ends with a comma.
    end: &'a str,
    /// The text behind the step.
    pub(super) next: &'a str,
}

impl<'a> LongStep<'a> {
    /// The step at the start of a text, if it is one with an object.
    ///
    /// # Errors
    /// If the object is not written as JSON.
    pub(super) fn begin(text: &'a str) -> Result<Option<Self>, String> {
        let first = text.trim_start_matches([' ', '\t']);
        let verb = |verb: &str| {
            first.strip_prefix(verb).filter(|after: &&str| !after.starts_with(char::is_alphanumeric))
        };
        let (plans, after) = match (verb("network"), verb("plan")) {
            (Some(after), _) => (false, after),
            (None, Some(after)) => (true, after),
            (None, None) => return Ok(None),
        };
        let has_none = plans && !after.trim_start_matches([' ', '\t']).starts_with('{');
        let (json, length) =
            if has_none { ("", 0) } else { object(after, if plans { "plan" } else { "network" })? };
        let behind = after.get(length..).unwrap_or_default();
        let (mut end, mut next) = line(behind, 0);
        while plans && end.trim_end().ends_with(',') && !next.is_empty() {
            (end, next) = line(behind, end.len() + 1);
        }
        Ok(Some(Self { plans, json, end: end.trim(), next }))
    }

    /// The number of lines between the step's first one and its last.
    pub(super) fn further_lines(&self) -> usize {
        self.json.matches('\n').count() + self.end.matches('\n').count()
    }

    /// The step.
    ///
    /// # Errors
    /// If it is not written as the step is.
    pub(super) fn step(&self) -> Result<CaseStep, String> {
        if self.plans { plan(self.json, self.end) } else { network(self.json.to_owned(), self.end) }
    }
}

/// The text up to the end of the line that is at `from`, and the text behind that line.
fn line(text: &str, from: usize) -> (&str, &str) {
    let end = text.get(from..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| from + at);
    (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default())
}

/// The JSON object at the start of a text, and the length of what was read.
fn object<'a>(text: &'a str, verb: &str) -> Result<(&'a str, usize), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let length = values.byte_offset();
            Ok((text.get(..length).unwrap_or_default().trim(), length))
        }
        Some(Err(error)) => Err(format!("after `{verb}`: {error}")),
        None => Err("expected the ipam object after `network`".into()),
    }
}

fn network(ipam: String, outcome: &str) -> Result<CaseStep, String> {
    let refused = match outcome.strip_prefix("->") {
        Some(outcome) => Some(ExpectedOutcome::read(outcome.trim())?),
        None if outcome.is_empty() || outcome.starts_with('#') => None,
        None => return Err(format!("expected `->` or nothing after the ipam object, found `{outcome}`")),
    };
    Ok(CaseStep::Network { ipam, refused })
}

fn plan(text: &str, outcome: &str) -> Result<CaseStep, String> {
    let outcome = outcome.strip_prefix("->").ok_or("expected `-> OUTCOME` at the end of `plan SITUATION`")?;
    let (situation, outcome) = (CaseSituation::read(text)?, ExpectedPlan::read(outcome.trim())?);
    Ok(CaseStep::Plan { text: text.to_owned(), situation, outcome })
}
