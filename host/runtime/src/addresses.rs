//! The addresses of running pods, as the runtime has them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tenure_types::Error;

use crate::cri::Runtime;

/// Looks for the addresses of running pods. A pod is asked about once: its addresses do not change.
#[derive(Debug)]
pub struct Addresses {
    runtime: Runtime,
    /// By sandbox. A `std::sync::Mutex`, held to read and to replace.
    known: Mutex<HashMap<String, Vec<IpAddr>>>,
}

impl Addresses {
    /// Reads the addresses of a runtime's pods.
    #[must_use]
    pub fn of(runtime: Runtime) -> Self {
        Self { runtime, known: Mutex::default() }
    }

    /// The addresses of all running pods that have a network of their own, each with its sandbox. One whose network is
    /// still being made may not be there yet.
    ///
    /// # Errors
    /// `Unreachable` if the runtime cannot be queried.
    pub async fn look(&self) -> Result<BTreeMap<IpAddr, String>, Error> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = self.runtime.addresses(known).await?;
        let pairs = known.iter().flat_map(|(sandbox, of)| of.iter().map(|ip| (*ip, sandbox.clone())));
        let all = pairs.collect();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(all)
    }
}
