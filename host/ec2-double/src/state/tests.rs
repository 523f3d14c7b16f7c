//! The account as a whole, by area: each test is a row of what a double must do.

mod addresses;
mod creation;
mod invariants;
mod lives;
mod places;
mod views;

use super::*;

/// Two subnets in one zone, and one in another.
fn account() -> State {
    let mut state = State::new(Account::default(), 7);
    for (id, zone, cidr) in
        [("subnet-1", "a", "10.0.0.0/24"), ("subnet-2", "a", "10.0.1.0/28"), ("subnet-3", "b", "10.0.2.0/24")]
    {
        let ipv6 = Some("fd00:0:0:1::/64".parse().unwrap());
        state.add_subnet(Subnet::new(id.to_owned(), zone.to_owned(), cidr.parse().unwrap(), ipv6));
    }
    state
}

/// A running instance.
fn launch(state: &mut State, kind: &str) -> String {
    state.launch(kind, "subnet-1", BTreeMap::new(), Time::default()).unwrap()
}

fn wanted(subnet: &str) -> Creation {
    Creation { subnet: subnet.to_owned(), ..Creation::default() }
}

fn create(state: &mut State) -> String {
    state.create(&wanted("subnet-1"), None, Time::START).unwrap()
}

fn place(instance: &str, device: u32) -> Place {
    Place { instance: instance.to_owned(), device, card: Some(0) }
}

/// An interface that is attached to an instance.
fn attached(state: &mut State, instance: &str, device: u32) -> (String, String) {
    let id = create(state);
    let attachment = state.attach(&id, &place(instance, device), Time::START).unwrap();
    (id, attachment)
}

fn status(state: &State, id: &str) -> Option<Status> {
    state.interfaces().get(id).map(|interface| interface.status)
}

fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
    result.unwrap_err().code.into_owned()
}
