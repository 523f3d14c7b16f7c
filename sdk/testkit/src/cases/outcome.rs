//! The expected outcome of a step.

use std::fmt;
use std::net::IpAddr;

use tenure_types::{Error, ErrorCode};

/// The words for a kind of refusal or failure.
const WORDS: [(&str, ErrorCode); 9] = [
    ("exhausted", ErrorCode::PoolExhausted),
    ("unavailable", ErrorCode::AddressUnavailable),
    ("not-yet", ErrorCode::NotYet),
    ("denied", ErrorCode::RequestDenied),
    ("over-quota", ErrorCode::OverQuota),
    ("invalid-config", ErrorCode::InvalidConfig),
    (REFUSED, ErrorCode::PolicyRefused),
    ("rejected", ErrorCode::ProposalRejected),
    ("failed", ErrorCode::PolicyFailed),
];

/// The word that also stands for every other kind of refusal.
const REFUSED: &str = "refused";

/// The expected outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedOutcome {
    /// Exactly the listed addresses, in order.
    Addresses(Vec<IpAddr>),
    /// Any addresses.
    Any,
    /// No address.
    Without {
        /// The word for the kind.
        word: &'static str,
        /// A part of its text.
        text: Option<String>,
    },
}

impl ExpectedOutcome {
    /// Reads an outcome.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if word == "any" && rest.trim().is_empty() {
            return Ok(Self::Any);
        }
        if let Some((word, _)) = WORDS.iter().find(|(known, _)| *known == word) {
            let text = match rest.trim() {
                "" => None,
                quoted => Some(serde_json::from_str(quoted).map_err(|_| {
                    format!("expected a text in double quotes after `{word}`, found `{quoted}`")
                })?),
            };
            return Ok(Self::Without { word, text });
        }
        let address = |text: &str| text.trim().parse().map_err(|_| text.trim().to_owned());
        match text.split(',').map(address).collect::<Result<_, _>>() {
            Ok(addresses) => Ok(Self::Addresses(addresses)),
            Err(wrong) => {
                let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
                Err(format!("`{wrong}` is neither an address nor one of any, {}", words.join(", ")))
            }
        }
    }

    /// Whether a word is one for a kind of refusal or failure.
    pub(super) fn is_word(word: &str) -> bool {
        WORDS.iter().any(|(known, _)| *known == word)
    }

    /// Whether a step ended in this.
    pub(super) fn is(&self, ended: &Result<Vec<IpAddr>, Error>) -> bool {
        match (self, ended) {
            (Self::Any, Ok(_)) => true,
            (Self::Addresses(expected), Ok(got)) => expected == got,
            (Self::Without { word, text }, Err(error)) => {
                let is_kind = Self::word(error.code).is_some_and(|found| {
                    found == *word || (*word == REFUSED && !matches!(found, "rejected" | "failed"))
                });
                is_kind && text.as_ref().is_none_or(|text| error.cause.contains(text.as_str()))
            }
            _ => false,
        }
    }

    /// The word for a code.
    fn word(code: ErrorCode) -> Option<&'static str> {
        WORDS.iter().find(|(_, known)| *known == code).map(|(word, _)| *word)
    }

    /// Renders the outcome of a step in the language of case files.
    pub(super) fn told(ended: &Result<Vec<IpAddr>, Error>) -> String {
        match ended {
            Ok(addresses) => Self::Addresses(addresses.clone()).to_string(),
            Err(error) => {
                let word = Self::word(error.code).unwrap_or(error.code.name());
                format!("{word} {:?}", error.cause)
            }
        }
    }
}

impl fmt::Display for ExpectedOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("any"),
            Self::Addresses(addresses) if addresses.is_empty() => formatter.write_str("no address"),
            Self::Addresses(addresses) => {
                let texts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
                formatter.write_str(&texts.join(", "))
            }
            Self::Without { word, text: None } => formatter.write_str(word),
            Self::Without { word, text: Some(text) } => write!(formatter, "{word} {text:?}"),
        }
    }
}
