//! DELs and GCs for a state that is missing: they are kept, and carried out once the state is back.

use std::io;
use std::sync::Arc;

use tenure_types::cni::{Command, Configuration};
use tenure_types::{Error, ErrorCode, Result};

use super::{CniService, owner, unread};
use crate::v1::Invocation;

/// A verb that can be deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferrable {
    /// A deferred DEL.
    Del,
    /// A deferred GC.
    Gc,
}

/// Keeps DELs and GCs outside of a state that is missing.
pub trait Deferral: Send + Sync + 'static {
    /// Whether the state is missing.
    fn is_due(&self) -> bool;

    /// Keeps a call until the state is back; durable for as long as pods live when this returns.
    ///
    /// # Errors
    /// If it cannot be kept.
    fn keep(&self, verb: Deferrable, call: &Invocation) -> io::Result<()>;
}

impl CniService {
    /// The same service, which defers DELs and GCs while the state is missing.
    #[must_use]
    pub fn deferring(self, deferral: Arc<dyn Deferral>) -> Self {
        Self { deferral: Some(deferral), ..self }
    }

    /// Serves a DEL or GC of the plugin. While the state is missing, it is kept instead: applied to another state, it would be lost
    /// when the right one is put back.
    pub(super) async fn serve_or_defer(&self, verb: Deferrable, call: &Invocation) -> Result<()> {
        match self.deferral.as_ref().filter(|deferral| deferral.is_due()) {
            Some(deferral) => self.defer(Arc::clone(deferral), verb, call).await,
            None if verb == Deferrable::Del => self.del(call).await,
            None => self.gc(call).await,
        }
    }

    async fn defer(&self, deferral: Arc<dyn Deferral>, verb: Deferrable, call: &Invocation) -> Result<()> {
        let command = match verb {
            Deferrable::Del => Command::Del,
            Deferrable::Gc => Command::Gc,
        };
        // What is invalid now is invalid later.
        let read = || {
            let config = Configuration::parse(&call.config)?;
            match verb {
                Deferrable::Del => owner(call).map(|_| true),
                Deferrable::Gc => {
                    config.version(&command)?;
                    config.valid_attachments().map(|valid| valid.is_some())
                }
            }
        };
        let is_wanted = read().inspect_err(|error| unread(&command, call, error))?;
        if !is_wanted {
            return Ok(());
        }
        let started_at_boot_ns = self.started(&command, call).boot_ns;
        let call = Invocation { started_at_boot_ns, ..call.clone() };
        let (container, interface) = (call.container_id.clone(), call.interface.clone());
        let kept = tokio::task::spawn_blocking(move || deferral.keep(verb, &call)).await;
        kept.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| {
            let cause = format_args!(
                "the state was lost, and this {command} cannot be kept until it is back: {error}"
            );
            Error::new(ErrorCode::NotReady, cause)
        })?;
        tracing::info!(verb = %command, container, interface, "deferred until the state is restored or confirmed");
        Ok(())
    }
}
