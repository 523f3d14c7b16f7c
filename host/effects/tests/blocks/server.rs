//! A made-up server that leases blocks of four addresses.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

/// The fate of a call, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trip {
    /// The process is killed before the server does it.
    Before(usize),
    /// The process is killed after the server did it.
    After(usize),
    /// The wing panics.
    Panic(usize),
}

/// The leases that the server knows.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// The blocks that are leased, each by the token that asked for it.
    pub(crate) leased: BTreeMap<String, String>,
    /// How many blocks were ever leased.
    pub(crate) count: u8,
    /// The block that the server wants back.
    pub(crate) wanted: Option<String>,
    /// The calls.
    pub(crate) calls: Vec<&'static str>,
    pub(crate) trip: Option<Trip>,
}

/// The server.
#[derive(Debug, Default)]
pub(crate) struct Server {
    leases: Mutex<Leases>,
    pub(crate) killed: Notify,
}

impl Server {
    pub(crate) fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap()
    }

    /// Leases a block; the same one for the same token.
    pub(crate) async fn lease(&self, token: &str) -> String {
        let number = self.called("lease").await;
        let name = {
            let mut leases = self.leases();
            let next = format!("b{}", leases.count + 1);
            let name = leases.leased.entry(token.to_owned()).or_insert(next).clone();
            leases.count = leases.count.max(name[1..].parse().unwrap());
            name
        };
        self.answered(number).await;
        name
    }

    /// Takes a block back.
    pub(crate) async fn give_back(&self, name: &str) {
        let number = self.called("give back").await;
        {
            let mut leases = self.leases();
            leases.leased.retain(|_, leased| leased != name);
            leases.wanted = leases.wanted.take().filter(|wanted| wanted != name);
        }
        self.answered(number).await;
    }

    async fn called(&self, call: &'static str) -> usize {
        let number = {
            let mut leases = self.leases();
            leases.calls.push(call);
            leases.calls.len() - 1
        };
        let is_panic = self.meets(Trip::Panic(number));
        assert!(!is_panic, "the wing panics, as the test wants");
        self.killed_at(Trip::Before(number)).await;
        number
    }

    async fn answered(&self, number: usize) {
        self.killed_at(Trip::After(number)).await;
    }

    async fn killed_at(&self, trip: Trip) {
        if self.meets(trip) {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }

    fn meets(&self, trip: Trip) -> bool {
        let mut leases = self.leases();
        let is_it = leases.trip == Some(trip);
        if is_it {
            leases.trip = None;
        }
        is_it
    }
}
