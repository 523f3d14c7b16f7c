//! Following what the metadata service shows of a node while it runs: one request, a pause, and the next.

use std::time::Duration;

use tokio::time::sleep;

use super::{Hint, HintRound, InstanceMetadata, MetadataError};

/// The time between an answer and the next request. A new token takes two requests more, once in six hours: with them, no minute has more
/// than 12.
const PAUSE: Duration = Duration::from_secs(6);

/// The requests about what may change, in turn and without end.
pub struct Hints<'a> {
    service: &'a dyn InstanceMetadata,
    round: HintRound,
    has_asked: bool,
}

impl<'a> Hints<'a> {
    /// The hints of a service about the node whose primary interface has this hardware address.
    #[must_use]
    pub fn new(service: &'a dyn InstanceMetadata, mac: &str) -> Self {
        Self { service, round: HintRound::new(mac), has_asked: false }
    }

    /// Asks for the next thing, after a pause unless it is the first; returns what the answer says.
    ///
    /// # Errors
    /// `Unreachable` if the service does not answer, and `Refused` if it refuses: the next call asks for the same thing again.
    pub async fn next(&mut self) -> Result<Option<Hint>, MetadataError> {
        if std::mem::replace(&mut self.has_asked, true) {
            sleep(PAUSE).await;
        }
        let lines = self.service.lines(&self.round.path()).await?;
        Ok(self.round.heard(lines))
    }
}

impl std::fmt::Debug for Hints<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Hints({:?})", self.round)
    }
}

#[cfg(test)]
mod tests {
    use super::PAUSE;

    #[test]
    fn the_book_has_this_pause() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/book/src/aws-eni.md");
        let words = format!("asked for one thing every {} seconds", PAUSE.as_secs_f64());
        assert!(std::fs::read_to_string(page).unwrap().contains(&words), "{words}");
    }
}
