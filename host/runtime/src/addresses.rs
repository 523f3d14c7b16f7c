//! The addresses of running pods, as the runtime has them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Mutex;

use tenure_types::{Error, hold};

use crate::cri::Runtime;

/// Looks for the addresses of running pods. A pod is asked about once: its addresses do not change.
#[derive(Debug)]
pub struct Addresses {
    runtime: Runtime,
    /// By sandbox. A `std::sync::Mutex`, held to read and to change.
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
        self.runtime.addresses(&self.known).await?;
        let known = hold(&self.known);
        Ok(known.iter().flat_map(|(sandbox, of)| of.iter().map(|ip| (*ip, sandbox.clone()))).collect())
    }
}
