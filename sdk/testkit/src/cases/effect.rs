//! Effects as a case file has them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use tenure_ledger::Book;
use tenure_types::{Attributes, Effect, EffectKind, Error, ErrorCode, InvalidAttributes};

/// An effect, whose pool is named and not counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseEffect {
    /// The kind's name in the interface, such as `request-block`.
    pub kind: String,
    /// The pool's name.
    pub pool: String,
    /// The target of the effect, and how much.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

impl CaseEffect {
    /// Checks that there is such a kind.
    pub(super) fn check(&self) -> Result<(), String> {
        if EffectKind::named(&self.kind).is_some() {
            return Ok(());
        }
        let kinds: Vec<_> = EffectKind::ALL.into_iter().map(EffectKind::name).collect();
        Err(format!("`{}` is not an effect; the effects are {}", self.kind, kinds.join(", ")))
    }

    /// An effect of a plan, with its pool's name.
    pub(super) fn named(effect: &Effect, book: &Book) -> Self {
        let pool = book.pools().get(effect.pool).map_or_else(String::new, |pool| pool.name.to_string());
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            kind: effect.kind.name().into(),
            pool,
            attributes: effect.attributes.iter().map(pair).collect(),
        }
    }

    /// The effect, with the index of its pool.
    pub(super) fn of(&self, book: &Book) -> Result<Effect, Error> {
        let unknown = || Error::new(ErrorCode::InvalidEnvironment, format_args!("no effect {}", self.kind));
        let kind = EffectKind::named(&self.kind).ok_or_else(unknown)?;
        Ok(Effect { kind, pool: index(book, &self.pool)?, attributes: attributes(&self.attributes)? })
    }
}

/// As a case file has it.
impl fmt::Display for CaseEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.pool)?;
        for (name, value) in &self.attributes {
            let is_word = |letter: char| !letter.is_whitespace() && !matches!(letter, ',' | '"');
            match !value.is_empty() && value.chars().all(is_word) {
                true => write!(formatter, " {name}={value}")?,
                false => write!(formatter, " {name}={value:?}")?,
            }
        }
        Ok(())
    }
}

/// The index of a pool.
pub(super) fn index(book: &Book, name: &str) -> Result<usize, Error> {
    let found = book.pools().iter().position(|pool| pool.name.as_str() == name);
    found.ok_or_else(|| {
        let names: Vec<_> = book.pools().iter().map(|pool| pool.name.as_str()).collect();
        let cause = format!("the network has no pool {name}, only {}", names.join(", "));
        Error::new(ErrorCode::InvalidEnvironment, cause)
    })
}

/// Attributes that a host could pass.
pub(super) fn attributes(pairs: &BTreeMap<String, String>) -> Result<Attributes, Error> {
    let invalid = |error: InvalidAttributes| Error::new(ErrorCode::InvalidEnvironment, error);
    Attributes::new(pairs).map_err(invalid)
}
