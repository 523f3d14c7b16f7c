//! Random histories: after any calls in any order, the account is still possible.
//!
//! `TENURE_SEED=n` repeats a run.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use tenure_fixtures::random::{self, Random};

use super::*;

/// The calls of a history.
const STEPS: u64 = 400;

/// The histories of a run.
const HISTORIES: u64 = 20;

#[test]
fn random_histories_keep_the_account_possible() {
    random::seeds("ec2-double").unwrap().for_each(histories_keep_the_account_possible);
}

fn histories_keep_the_account_possible(seed: u64) {
    for history in 0..HISTORIES {
        let mut random = Random::new(seed.wrapping_add(history));
        let mut state = account();
        state.rules.throttling = false;
        let nodes: Vec<String> =
            ["t3.small", "m5.large", "t2.medium"].iter().map(|kind| launch(&mut state, kind)).collect();
        let mut now = Time::START;
        for step in 0..STEPS {
            now = now.after(random.below(3000));
            state.run_until(now);
            call(&mut state, &nodes, &mut random, now);
            state.note(now);
            check(&state).unwrap_or_else(|error| {
                panic!("TENURE_SEED={seed}, history {history}, step {step}: {error}")
            });
        }
    }
}

/// A random call; most are refused at some time, which is as good.
fn call(state: &mut State, nodes: &[String], random: &mut Random, now: Time) {
    let pick = |random: &mut Random, count: usize| usize::try_from(random.below(count as u64)).unwrap();
    let known: Vec<String> = state.interfaces().all().map(|interface| interface.id.clone()).collect();
    let id = known[pick(random, known.len())].clone();
    let interface = state.interfaces().get(&id).unwrap().clone();
    let attachment =
        interface.attachment.as_ref().map(|attachment| attachment.id.clone()).unwrap_or_default();
    let subnet = ["subnet-1", "subnet-2", "subnet-3"][pick(random, 3)];
    let count = u32::try_from(random.below(4)).unwrap();
    let ipv4 = if random.below(2) == 0 { Wanted::Count(count) } else { Wanted::Prefixes(count) };
    let address = Ipv4Addr::new(10, 0, 0, u8::try_from(random.below(256)).unwrap());
    let node = &nodes[pick(random, nodes.len())];
    match random.below(12) {
        0 | 1 => drop(state.create(&Creation { ipv4, ..wanted(subnet) }, None, now)),
        2 => drop(state.create(&wanted(subnet), Some("token"), now)),
        3 | 4 => drop(state.attach(&id, &place(node, count), now)),
        5 => drop(state.assign(&id, &ipv4, false, now)),
        6 => drop(state.assign(&id, &Wanted::These(vec![address]), random.below(2) == 0, now)),
        7 => {
            let some = |random: &mut Random, all: &[Ipv4Addr]| -> Vec<Ipv4Addr> {
                all.iter().skip(1).filter(|_| random.below(2) == 0).copied().collect()
            };
            let addresses = some(random, &interface.ipv4);
            drop(state.unassign(&id, &addresses, &interface.ipv4_prefixes, now));
        }
        8 => drop(state.detach(&attachment, now)),
        9 => drop(state.delete(&id, now)),
        10 => drop(state.modify(&id, Change::DeleteOnTermination(attachment, true), now)),
        _ if random.below(30) == 0 => drop(state.terminate(node, now)),
        _ => drop(if random.below(2) == 0 { state.stop(node, now) } else { state.start(node, now) }),
    }
}

/// Checks the invariants of every possible account.
fn check(state: &State) -> Result<(), String> {
    let mut owners: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places = BTreeSet::new();
    for interface in state.interfaces().all() {
        let hosts = interface.ipv4_prefixes.iter().flat_map(|prefix| {
            let first = u32::from(prefix.network());
            (first..first + 16).map(Ipv4Addr::from)
        });
        let subnet = &state.subnets()[&interface.subnet];
        for address in interface.ipv4.iter().copied().chain(hosts) {
            *used.entry(&interface.subnet).or_default() += 1;
            if let Some(other) = owners.insert(address, &interface.id) {
                return Err(format!("{address} is on {other} and {}", interface.id));
            }
            if !subnet.cidr.contains(&address) {
                return Err(format!("{address} is not in {}", subnet.cidr));
            }
        }
        let is_attached = matches!(interface.status, Status::Attaching | Status::InUse | Status::Detaching);
        if is_attached != interface.attachment.is_some() || is_attached == interface.idle_since.is_some() {
            return Err(format!("{:?} and {:?}", interface.status, interface.attachment));
        }
        let Some(attachment) = &interface.attachment else { continue };
        let instance = &state.instances()[&attachment.instance];
        if interface.slots() > instance.kind.ipv4 as usize {
            return Err(format!("{} slots on {}", interface.slots(), instance.kind.name));
        }
        if !instance.kind.takes_prefixes() && !interface.ipv4_prefixes.is_empty() {
            return Err(format!("prefixes on {}", instance.kind.name));
        }
        if !places.insert((&attachment.instance, attachment.card, attachment.device)) {
            return Err(format!("two interfaces on device {} of {}", attachment.device, attachment.instance));
        }
        if instance.phase == Phase::Terminated {
            return Err(format!("{} is on an instance that has ended", interface.id));
        }
    }
    for (id, subnet) in state.subnets() {
        let all = 1_usize << (32 - subnet.cidr.prefix_len());
        let expected = all - 5 - used.get(id.as_str()).copied().unwrap_or(0);
        if subnet.free() as usize != expected {
            return Err(format!("{id} has {} free addresses instead of {expected}", subnet.free()));
        }
    }
    for instance in state.instances().values() {
        let count = places.iter().filter(|(id, _, _)| **id == instance.id).count();
        if count > (instance.kind.interfaces * instance.kind.cards) as usize {
            return Err(format!("{count} interfaces on {}", instance.kind.name));
        }
    }
    Ok(())
}
