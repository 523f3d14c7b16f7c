//! Effects that begin without a plan.

use tenure_engine::Begun;
use tenure_types::{Effect, Error, ErrorCode, Result};

use crate::core::Core;
use crate::wing::Wing;

impl<W: Wing> Core<W> {
    /// Begins effects that the host wants.
    pub(crate) async fn begin(&self, effects: Vec<Effect>) -> Result<Begun> {
        let network = &self.tools.network;
        self.wing.readiness().map_err(|words| Error::new(ErrorCode::NotReady, words))?;
        let book = self.tools.book().await.ok_or_else(|| {
            Error::new(ErrorCode::UnknownNetwork, format!("network {network} does not exist yet"))
        })?;
        let (situation, _) =
            self.wing.situation(&book).map_err(|error| Error::new(ErrorCode::Internal, error))?;
        drop(book);
        let outside = self.wing.outside(&situation, &self.ids);
        let begun = self.tools.engine.begin_effects(network, effects, &outside).await?;
        self.begun.add(&begun.intents);
        Ok(begun)
    }
}
