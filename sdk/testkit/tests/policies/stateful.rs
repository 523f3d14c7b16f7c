//! A policy with a state, run natively: the state is kept with what was assigned, and with nothing else.

use tenure_sdk::ledger::{self, Direction};
use tenure_sdk::{
    Attributes, Config, ConfigError, Cooling, Definition, Outcome, Policy, Proposal, Refusal, Request,
    Stateful, configuration,
};
use tenure_testkit::{ErrorCode, Native, cases, define, define_stateful};

/// Assigns the highest free address and the lowest one in turns.
struct Turns;

const LOW: &[u8] = b"low";

impl Stateful for Turns {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request, state: &[u8]) -> Result<Outcome, Refusal> {
        let is_low = state == LOW;
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let direction = if is_low { Direction::Ascending } else { Direction::Descending };
            let free = pool.shelf().free(None, direction, 1).first().copied();
            proposal.assign(pool.index, free.ok_or_else(|| Refusal::exhausted("no address is free"))?);
        }
        let state = Some(if is_low { Vec::new() } else { LOW.to_vec() });
        match request.attribute("pod.namespace") {
            Some("bank") => Err(Refusal::Other("not here".into())),
            Some("hoard") => Ok(Outcome { proposal, state: Some(vec![0; 1 << 20]) }),
            _ => Ok(Outcome { proposal, state }),
        }
    }

    fn migrate(state: &[u8], _: &Attributes) -> Result<Vec<u8>, Refusal> {
        Ok(state.to_vec())
    }
}

/// The same without its state.
struct Forgetful;

impl Policy for Forgetful {
    fn define(config: &Config) -> Result<Definition, ConfigError> {
        Turns::define(config)
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        Ok(Turns::propose(request, &[])?.proposal)
    }
}

tenure_testkit::cases!(Turns, "tests/kept", stateful);

#[test]
fn the_same_cases_fail_for_a_policy_whose_state_is_not_kept() {
    let cases = cases::read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept")).unwrap();
    let failures = cases.iter().filter_map(|case| cases::run(case, Native::<Forgetful>::new).failure);
    let told: Vec<_> = failures.map(|failure| failure.to_string()).collect();
    assert!(told.len() == 1 && told.iter().all(|told| told.contains("expected: 10.1.1.2")), "{told:?}");
}

#[test]
fn a_node_keeps_the_state_from_call_to_call() {
    let ipam = r#"{ "subnet": "10.1.2.0/29" }"#;
    let address = |text: &str| vec![text.parse::<std::net::IpAddr>().unwrap()];
    let mut node = define_stateful::<Turns>(ipam).unwrap();
    assert_eq!(node.add("shop/web-0").unwrap(), address("10.1.2.6"));
    assert_eq!(node.add("shop/web-1").unwrap(), address("10.1.2.2"));
    let mut without = define::<Forgetful>(ipam).unwrap();
    assert_eq!(without.add("shop/web-0").unwrap(), address("10.1.2.6"));
    assert_eq!(without.add("shop/web-1").unwrap(), address("10.1.2.5"));
}

#[test]
fn a_state_beyond_the_limit_fails_and_keeps_nothing() {
    let mut node = define_stateful::<Turns>(r#"{ "subnet": "10.1.2.0/29" }"#).unwrap();
    let refused = node.add("hoard/x").unwrap_err();
    assert_eq!(refused.code, ErrorCode::PolicyFailed);
    assert!(refused.cause.contains("its state is 1048576 bytes, and the limit is 16384"), "{refused}");
    assert_eq!(node.add("shop/web-0").unwrap(), ["10.1.2.6".parse::<std::net::IpAddr>().unwrap()]);
}
