//! The expected outcome of the step `plan`.

use std::collections::BTreeMap;
use std::fmt;

use tenure_types::Error;

use super::ExpectedOutcome;
use super::effect::CaseEffect;

/// The attribute of an effect that is for people: it is compared only where a case names it.
const REASON: &str = "reason";

/// The expected outcome of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedPlan {
    /// Exactly these effects, in order, with these attributes.
    Effects(Vec<CaseEffect>),
    /// Any effects, or no effect.
    Any,
    /// No plan: the policy refuses, or fails.
    Without(ExpectedOutcome),
}

impl ExpectedPlan {
    /// Reads an outcome.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let word = text.split_whitespace().next().unwrap_or_default();
        match text {
            "" => Err("expected `any`, `none`, effects or a refusal after `->`".to_owned()),
            "any" => Ok(Self::Any),
            "none" => Ok(Self::Effects(Vec::new())),
            _ if ExpectedOutcome::is_word(word) => ExpectedOutcome::read(text).map(Self::Without),
            _ => parts(text, |letter| letter == ',')
                .into_iter()
                .map(effect)
                .collect::<Result<_, _>>()
                .map(Self::Effects),
        }
    }

    /// Whether a plan is this.
    pub(super) fn is(&self, planned: &Result<Vec<CaseEffect>, Error>) -> bool {
        match (self, planned) {
            (Self::Any, Ok(_)) => true,
            (Self::Effects(expected), Ok(planned)) => {
                expected.len() == planned.len()
                    && expected.iter().zip(planned).all(|(expected, planned)| is(expected, planned))
            }
            (Self::Without(refusal), Err(error)) => refusal.is(&Err(error.clone())),
            _ => false,
        }
    }

    /// Renders a plan in the language of case files.
    pub(super) fn told(planned: &Result<Vec<CaseEffect>, Error>) -> String {
        match planned {
            Ok(effects) => Self::Effects(effects.clone()).to_string(),
            Err(error) => ExpectedOutcome::told(&Err(error.clone())),
        }
    }
}

impl fmt::Display for ExpectedPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("any"),
            Self::Effects(effects) if effects.is_empty() => formatter.write_str("none"),
            Self::Effects(effects) => {
                let effects: Vec<_> = effects.iter().map(ToString::to_string).collect();
                formatter.write_str(&effects.join(", "))
            }
            Self::Without(refusal) => write!(formatter, "{refusal}"),
        }
    }
}

/// Whether an effect is the expected one; a reason that is not expected is not compared.
fn is(expected: &CaseEffect, planned: &CaseEffect) -> bool {
    let mut attributes = planned.attributes.clone();
    if !expected.attributes.contains_key(REASON) {
        attributes.remove(REASON);
    }
    (&expected.kind, &expected.pool, &expected.attributes) == (&planned.kind, &planned.pool, &attributes)
}

/// Reads `KIND POOL NAME=VALUE ...`.
fn effect(text: &str) -> Result<CaseEffect, String> {
    let words = parts(text, char::is_whitespace);
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let wrong = || format!("expected `KIND POOL NAME=VALUE ...` for an effect, found `{}`", text.trim());
    let (kind, pool) = (words.next().ok_or_else(wrong)?, words.next().ok_or_else(wrong)?);
    let attributes = words.map(pair).collect::<Result<BTreeMap<_, _>, _>>()?;
    let effect = CaseEffect { kind: kind.to_owned(), pool: pool.to_owned(), attributes };
    effect.check()?;
    Ok(effect)
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
    let value = match value.starts_with('"') {
        true => {
            serde_json::from_str(value).map_err(|_| format!("`{value}` is not a text in double quotes"))?
        }
        false => value.to_owned(),
    };
    Ok((name.to_owned(), value))
}

/// The parts of a text between separators outside of double quotes.
fn parts(text: &str, mut separates: impl FnMut(char) -> bool) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut ends = |letter: char| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && letter == '\\' && !was_escaped;
        is_quoted ^= letter == '"' && !was_escaped;
        !is_quoted && separates(letter)
    };
    text.split(|letter: char| ends(letter)).collect()
}
