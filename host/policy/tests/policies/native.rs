//! The test kit against the sandbox: the same policy gives the same answers in both, in random histories.
//!
//! The policies are the SDK's examples and host-local, which together ask everything that a policy may ask.

#![expect(unreachable_pub, reason = "an example is a crate of its own elsewhere")]

use std::net::IpAddr;
use std::sync::Arc;

use tenure_fixtures::random::many_seeds;
use tenure_policy::{WasmPolicy, embedded};
use tenure_sdk::Policy;
use tenure_testkit::{Error, ErrorCode, Native, Node, Subject};
use tenure_types::{Definition, NetworkConfig, NetworkName, Outcome, Request};

use super::node::{example, load};

#[path = "../../../../sdk/guest/examples/delegated.rs"]
mod delegated;
#[path = "../../../../sdk/guest/examples/quota.rs"]
mod quota;
#[path = "../../../../sdk/guest/examples/sticky.rs"]
mod sticky;
#[path = "../../../../sdk/guest/examples/zones.rs"]
mod zones;

/// The addresses of pods in a few namespaces, of an agent's claims, and of names with one address of their own.
const IPAM: &str = r#"{
    "ranges": [[
        { "subnet": "10.1.1.0/28", "rangeAttributes": { "namespace": "shop", "for": "agents" } },
        { "subnet": "10.1.2.0/28", "rangeStart": "10.1.2.4" }
    ], [{ "subnet": "fd00:1::/124" }]],
    "quota": { "*": 6, "shop": 3 },
    "fixed": { "shop/pod-1": "10.1.2.2", "cilium/pod-2": "10.1.2.3" }
}"#;

const SEEDS: u64 = 5;
const STEPS: u32 = 60;

struct Sandboxed(Arc<WasmPolicy>);

impl Subject for Sandboxed {
    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        self.0.define(network, config)
    }

    fn propose(
        &self,
        request: &Request,
        state: &[u8],
        book: &Arc<tenure_ledger::Book>,
    ) -> Result<Outcome, Error> {
        self.0.propose(request, state, book)
    }
}

/// A repeatable sequence of numbers: that of `java.util.Random`'s generator.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(11) & ((1 << 48) - 1);
        (self.0 >> 17) % most
    }
}

/// An answer without the policy's name and digest, which only the sandbox has.
fn told(answer: Result<Vec<IpAddr>, Error>) -> Result<Vec<IpAddr>, (ErrorCode, String)> {
    answer.map_err(|error| {
        let named = error.cause.strip_prefix("policy ").and_then(|rest| rest.split_once(": "));
        (error.code, named.map_or(error.cause.clone(), |(_, text)| text.to_owned()))
    })
}

/// Runs the same histories natively and in the sandbox, and compares each answer.
fn agree<P: Policy>(wasm: &Arc<WasmPolicy>) {
    for seed in many_seeds("policies", SEEDS).unwrap() {
        let mut native = Node::of(Native::<P>::new(), IPAM).unwrap();
        let mut sandboxed = Node::of(Sandboxed(Arc::clone(wasm)), IPAM).unwrap();
        let mut random = Random(seed);
        for step in 0..STEPS {
            let whose = match random.below(3) {
                0 => "shop",
                1 => "bank",
                _ => "claim cilium",
            };
            let owner = format!("{whose}/pod-{}", random.below(6));
            match random.below(8) {
                0..=4 => {
                    let wanted = ["10.1.1.5".parse().unwrap()];
                    let requested: &[_] = if random.below(5) == 0 { &wanted } else { &[] };
                    let here = told(native.add_requesting(&owner, requested));
                    let there = told(sandboxed.add_requesting(&owner, requested));
                    assert_eq!(here, there, "TENURE_SEED={seed}, step {step}: {owner}");
                }
                5 | 6 => assert_eq!(native.del(&owner), sandboxed.del(&owner)),
                _ => {
                    native.thaw();
                    sandboxed.thaw();
                }
            }
        }
    }
}

#[test]
fn a_policy_answers_natively_as_it_does_in_the_sandbox() {
    agree::<zones::Zones>(&example("zones"));
    agree::<quota::Quota>(&example("quota"));
    agree::<sticky::Sticky>(&example("sticky"));
    agree::<delegated::Delegated>(&example("delegated"));
    agree::<tenure_host_local::HostLocal>(&load("host-local", embedded::HOST_LOCAL));
}
