//! The doors of the metadata services: one address for each instance, as in the real world each instance asks its own.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::http::serve;
use crate::imds::Imds;
use crate::world::{Shared, access_key};

/// The open doors. Dropping them closes all.
#[derive(Debug)]
pub(crate) struct Doors {
    shared: Arc<Shared>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    addresses: BTreeMap<String, SocketAddr>,
    tasks: JoinSet<()>,
}

impl Doors {
    /// No doors yet.
    #[must_use]
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, open: Mutex::default() }
    }

    /// Opens an instance's door at an address, which may leave the port to the kernel.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub(crate) async fn open(&self, instance: &str, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        self.shared.with(|world, _| world.keys.insert(access_key(instance), instance.to_owned()));
        let service = Arc::new(Imds::new(Arc::clone(&self.shared), instance.to_owned()));
        let mut open = self.lock();
        open.tasks.spawn(serve(listener, service));
        open.addresses.insert(instance.to_owned(), address);
        Ok(address)
    }

    /// The listening address of each instance's metadata service.
    #[must_use]
    pub(crate) fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        self.lock().addresses.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
