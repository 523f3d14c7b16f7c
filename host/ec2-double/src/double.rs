//! The double: one state with its faces on loopback, for tests and for the program.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::control::Control;
use crate::doors::Doors;
use crate::ec2::Ec2;
use crate::faults::{Fault, Faults};
use crate::held::{Held, Holds};
use crate::http::serve;
use crate::journal::{Entry, Journal};
use crate::oracle::{Oracle, Violation};
use crate::permissions::Permissions;
use crate::setup::Setup;
use crate::state::Time;
use crate::wire::Wire;
use crate::world::{Shared, Signature, World};

/// The addresses that the faces listen on; port 0 leaves the choice to the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// The address of the EC2 API.
    pub ec2: SocketAddr,
    /// The metadata service of the first instance; that of each further one has the next port, or any if this is 0.
    pub imds: SocketAddr,
    /// The control port.
    pub control: SocketAddr,
}

impl Default for Addresses {
    fn default() -> Self {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self { ec2: any, imds: any, control: any }
    }
}

/// A running double. Dropping it ends it.
#[derive(Debug)]
pub struct Double {
    shared: Arc<Shared>,
    doors: Arc<Doors>,
    nodes: Vec<String>,
    ec2: SocketAddr,
    control: SocketAddr,
    /// The faces, which end with the double.
    _tasks: JoinSet<()>,
}

impl Double {
    /// Starts a double.
    ///
    /// # Errors
    /// When the set-up is impossible, or an address cannot be bound.
    pub async fn start(setup: &Setup, addresses: Addresses) -> io::Result<Self> {
        let (state, nodes) = setup.state().map_err(|refusal| io::Error::other(refusal.message))?;
        let world = World {
            state,
            faults: Faults::default(),
            journal: Journal::default(),
            permissions: Permissions::default(),
            oracle: Oracle::default(),
            keys: BTreeMap::new(),
            signature: Signature { required: !setup.unsigned, skew_s: 0 },
            namespaces: namespaces(setup, &nodes)?,
            held: Holds::default(),
        };
        let clock = if setup.virtual_time { Clock::virtual_time() } else { Clock::real() };
        let shared = Arc::new(Shared::new(world, clock));
        let doors = Arc::new(Doors::new(Arc::clone(&shared)));
        let mut door = addresses.imds;
        for instance in &nodes {
            doors.open(instance, door).await?;
            if door.port() != 0 {
                door.set_port(door.port().saturating_add(1));
            }
        }
        let mut tasks = JoinSet::new();
        if let Some(namespace) = &setup.wire {
            tasks.spawn(Wire::lay(Arc::clone(&shared), namespace)?.follow());
        }
        let listener = TcpListener::bind(addresses.ec2).await?;
        let ec2 = listener.local_addr()?;
        tasks.spawn(serve(listener, Arc::new(Ec2::new(Arc::clone(&shared)))));
        let listener = TcpListener::bind(addresses.control).await?;
        let control = listener.local_addr()?;
        let service = Control::new(Arc::clone(&shared), Arc::clone(&doors));
        tasks.spawn(serve(listener, Arc::new(service)));
        Ok(Self { shared, doors, nodes, ec2, control, _tasks: tasks })
    }

    /// EC2's address.
    #[must_use]
    pub const fn ec2(&self) -> SocketAddr {
        self.ec2
    }

    /// The control port's address.
    #[must_use]
    pub const fn control(&self) -> SocketAddr {
        self.control
    }

    /// The instances of the set-up, in its order.
    #[must_use]
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// All instances, each with the address of its metadata service.
    #[must_use]
    pub fn imds(&self) -> BTreeMap<String, SocketAddr> {
        self.doors.addresses()
    }

    /// Looks at the world, or changes it.
    pub fn with<T>(&self, change: impl FnOnce(&mut World, Time) -> T) -> T {
        let result = self.shared.with(change);
        self.shared.changed();
        result
    }

    /// Sets a fault, and returns its number.
    pub fn fault(&self, fault: Fault) -> u64 {
        self.with(|world, _| world.faults.add(fault))
    }

    /// Moves the virtual clock forward; nothing happens if the clock is real.
    pub fn advance(&self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.shared.clock.move_to(self.shared.clock.now().after(milliseconds));
        self.with(|_, _| ());
    }

    /// Waits until a call of an action, or to a path, is held, and returns it.
    pub async fn wait_for_held(&self, call: &str) -> Held {
        let mut changes = self.shared.changes();
        loop {
            let found = self.shared.with(|world, _| world.held.all().find(|held| held.call == call).cloned());
            if let Some(held) = found {
                return held;
            }
            // The sender lives as long as this double.
            let _ = changes.changed().await;
        }
    }

    /// Waits until a call after number `after` is in the journal that is as described, and returns it.
    pub async fn wait_for(&self, after: u64, is_it: impl Fn(&Entry) -> bool) -> Entry {
        let mut changes = self.shared.changes();
        loop {
            let found = self
                .shared
                .with(|world, _| world.journal.after(after).iter().find(|entry| is_it(entry)).cloned());
            if let Some(entry) = found {
                return entry;
            }
            // The sender lives as long as this double.
            let _ = changes.changed().await;
        }
    }

    /// Everything that must never happen and did.
    #[must_use]
    pub fn verdict(&self) -> Vec<Violation> {
        self.with(|world, now| world.oracle.verdict(&world.state, world.journal.busiest_minute(), now))
    }

    /// The state that the faces share.
    #[must_use]
    pub const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// The network namespaces of the nodes. With a wire, two nodes cannot share one: their links would have the same names.
fn namespaces(setup: &Setup, nodes: &[String]) -> io::Result<BTreeMap<String, String>> {
    let mut seen = BTreeSet::new();
    if setup.wire.is_some() && !setup.instances.iter().all(|new| seen.insert(&new.namespace)) {
        return Err(io::Error::other("with a wire, each instance needs a network namespace of its own"));
    }
    let named = nodes.iter().zip(&setup.instances);
    Ok(named.filter_map(|(node, new)| Some((node.clone(), new.namespace.clone()?))).collect())
}
