//! The wire: each attached interface is a veth with its MAC, whose other end is in a namespace that plays the VPC.
//!
//! ```text
//! namespace of a node                     namespace of the VPC
//!   ens5 (device 0) ──────────────────────── p… ┐
//!   ens6 (device 1) ──────────────────────── p… ┴─ vpc0, a bridge with the gateway of each subnet
//! ```
//!
//! The VPC leads each address and prefix of an attached interface to that interface, as the real one does: nobody need answer
//! for it there.
//!
//! A node's namespace is one that its user made and named; without a name, it is the double's own. The primary interface of a
//! named namespace comes configured, as an image of an operating system would have it; everything else comes down and bare, as
//! a new card does. Cables follow the account: they come when an attachment is complete, and go when it is not.

mod commands;
mod ways;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use crate::journal::{Call, Face, Told};
use crate::state::{State, Status, Time};
use crate::world::{Shared, World};

use commands::{Cable, Namespace, Subnets};
use ways::Ways;

/// The wire of a double. Dropping it removes the VPC's namespace, and all cables with it.
#[derive(Debug)]
pub(crate) struct Wire {
    shared: Arc<Shared>,
    vpc: Namespace,
    /// The cables that are plugged, or could not be: those are not tried again.
    plugged: BTreeMap<String, Cable>,
    /// The ways that are laid.
    laid: BTreeMap<String, Ways>,
}

impl Wire {
    /// Makes the VPC's namespace.
    ///
    /// # Errors
    /// Without root, without `ip`, and if there is such a namespace.
    pub(crate) fn lay(shared: Arc<Shared>, namespace: &str) -> io::Result<Self> {
        let subnets = shared.with(|world, _| subnets(&world.state));
        commands::run(&commands::make(namespace)).map_err(|error| {
            io::Error::other(format!(
                "cannot make the VPC's namespace: {error}; if a double left it behind: ip netns del {namespace}"
            ))
        })?;
        // From here on, dropping it cleans up.
        let wire = Self {
            shared,
            vpc: Namespace(namespace.to_owned()),
            plugged: BTreeMap::new(),
            laid: BTreeMap::new(),
        };
        commands::furnish(&wire.vpc, &subnets).iter().try_for_each(|command| commands::run(command))?;
        Ok(wire)
    }

    /// Follows the account until the task is dropped. `ip` takes a few milliseconds, for which the caller's thread waits.
    pub(crate) async fn follow(mut self) {
        let shared = Arc::clone(&self.shared);
        let mut changes = shared.changes();
        loop {
            changes.mark_unchanged();
            let due = shared.with(|world, now| {
                self.plug(world, now);
                world.state.next_event()
            });
            self.wait(&mut changes, due).await;
        }
    }

    async fn wait(&self, changes: &mut watch::Receiver<u64>, due: Option<Time>) {
        let next_event = async {
            match due {
                Some(due) => self.shared.clock.wait_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // The sender lives as long as the wire.
            _ = changes.changed() => {}
            () = next_event => {}
        }
    }

    /// Plugs and unplugs what has changed.
    fn plug(&mut self, world: &mut World, now: Time) {
        let wanted = cables(&world.state, &world.namespaces);
        let gone: Vec<String> = self
            .plugged
            .iter()
            .filter(|(id, cable)| wanted.get(*id) != Some(*cable))
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            if let Some(cable) = self.plugged.remove(&id) {
                self.all("unplug", &id, &commands::unplug(&cable), world, now);
            }
        }
        for (id, cable) in wanted {
            if !self.plugged.contains_key(&id) {
                self.all("plug", &id, &commands::plug(&cable, &self.vpc), world, now);
                self.plugged.insert(id, cable);
            }
        }
        self.lead(world, now);
    }

    /// Leads what has changed to where it belongs.
    fn lead(&mut self, world: &mut World, now: Time) {
        let wanted = ways::ways(&world.state);
        let laid = std::mem::replace(&mut self.laid, wanted);
        for (id, ways) in laid.iter().filter(|(id, _)| !self.laid.contains_key(*id)) {
            self.all("lift", id, &ways.lift(&self.vpc), world, now);
        }
        for (id, ways) in &self.laid {
            let commands = ways.lay(laid.get(id), &self.vpc);
            if !commands.is_empty() {
                self.all("lay", id, &commands, world, now);
            }
        }
    }

    /// Runs commands, and writes down what came of them.
    fn all(&self, what: &str, interface: &str, commands: &[Vec<String>], world: &mut World, now: Time) {
        let result = commands.iter().try_for_each(|command| commands::run(command));
        let call = Call {
            face: Face::Control,
            caller: String::new(),
            call: what.to_owned(),
            parameters: BTreeMap::from([("interface".to_owned(), interface.to_owned())]),
            refused: result.err().map(|error| error.to_string()),
            told: Told::Answer,
        };
        self.shared.record(world, call, now);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Deleting one end of a cable deletes both. Nobody is left to hear about a failure.
        for cable in self.plugged.values() {
            commands::unplug(cable).iter().for_each(|command| drop(commands::run(command)));
        }
        drop(commands::run(&commands::remove(&self.vpc)));
    }
}

fn subnets(state: &State) -> Subnets {
    state.subnets().values().map(|subnet| (subnet.cidr, subnet.ipv6)).collect()
}

/// The cables that there should be, by interface.
fn cables(state: &State, namespaces: &BTreeMap<String, String>) -> BTreeMap<String, Cable> {
    let attached = state.interfaces().all().filter(|interface| interface.status == Status::InUse);
    let cable = attached.filter_map(|interface| {
        let attachment = interface.attachment.as_ref()?;
        let node = namespaces.get(&attachment.instance).cloned().map(Namespace);
        let is_primary = attachment.device == 0 && attachment.card == 0;
        let subnet = state.subnets().get(&interface.subnet)?;
        let own = interface.primary().filter(|_| is_primary && node.is_some());
        let cable = Cable {
            link: commands::link(attachment.device, attachment.card),
            peer: commands::peer(&interface.id),
            mac: interface.mac.clone(),
            node,
            own: own.map(|address| (address, subnet.cidr)),
        };
        Some((interface.id.clone(), cable))
    });
    cable.collect()
}
