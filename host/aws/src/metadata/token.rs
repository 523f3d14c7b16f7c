//! The token that the metadata service wants with each request.
//!
//! It is kept until the service no longer takes it. Its life is not measured here: the service says 401 when it has ended,
//! and a suspended node would measure it wrong.

use std::sync::{Arc, Mutex, PoisonError};

/// The path of tokens.
pub(super) const PATH: &str = "/latest/api/token";
/// The header with a token.
pub(super) const HEADER: &str = "x-aws-ec2-metadata-token";
/// The header that asks for a token's life, and the life: six hours, the longest.
pub(super) const LIFE: (&str, &str) = ("x-aws-ec2-metadata-token-ttl-seconds", "21600");

/// A token that several readers share.
#[derive(Debug, Default)]
pub(super) struct Token {
    /// Not held while something waits. Two readers may ask for a token at once; both tokens are good.
    known: Mutex<Option<Arc<str>>>,
}

impl Token {
    pub(super) fn get(&self) -> Option<Arc<str>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, token: &str) -> Arc<str> {
        let token: Arc<str> = token.into();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&token));
        token
    }

    /// Forgets a token that was refused, but not one that another reader got since.
    pub(super) fn refused(&self, token: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.take_if(|known| **known == *token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refused_token_is_forgotten() {
        let token = Token::default();
        assert_eq!(token.get(), None);
        let first = token.set("first");
        token.set("second");
        token.refused(&first);
        assert_eq!(token.get().as_deref(), Some("second"));
        token.refused("second");
        assert_eq!(token.get(), None);
    }
}
