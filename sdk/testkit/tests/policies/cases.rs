//! Case files on a real policy, run natively: what passes, what fails, and how it is told.

use std::path::PathBuf;

use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger,
};
use tenure_testkit::cases::{Case, parse, run};
use tenure_testkit::{Native, define, histories};

/// Assigns in turn; a namespace may be forbidden, and one makes it panic.
struct InTurn;

impl Policy for InTurn {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        let namespace = request.attribute("pod.namespace");
        if let Some(forbidden) = configuration::root()?.get("forbidden")?
            && Some(forbidden.text()?) == namespace
        {
            return Err(Refusal::Other(format!("namespace {} gets none here", forbidden.text()?)));
        }
        assert_ne!(namespace, Some("panics"), "it cannot serve this namespace");
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let wanted =
                request.requested.iter().find(|address| ledger::pool_of(**address) == Some(pool.index));
            let full = || Refusal::exhausted(format!("no address is free in pool {}", pool.name));
            let address = wanted.copied().or_else(|| pool.shelf().next_in_turn()).ok_or_else(full)?;
            proposal.assign(pool.index, address);
        }
        Ok(proposal)
    }
}

fn failure(text: &str) -> Option<String> {
    let case = Case { path: PathBuf::from("cases/x.txt"), steps: parse(text).unwrap() };
    run(&case, Native::<InTurn>::new).failure.map(|failure| failure.to_string())
}

#[test]
fn each_outcome_is_told_apart() {
    let passes = r#"# Two addresses in one pool.
network {
  "subnet": "10.1.1.0/29", "rangeEnd": "10.1.1.3",
  "forbidden": "bank"
}

add shop/web-0 -> 10.1.1.2
add shop/web-0 -> 10.1.1.2
add claim cilium/router requesting 10.1.1.3 -> 10.1.1.3
add somebody -> exhausted
add somebody -> exhausted "pool 0"
add somebody -> refused "no address is free"
add bank/db-0 -> refused "namespace bank gets none"
add panics/x -> failed "it cannot serve"
add shop/web-2 requesting 10.1.1.2 -> rejected
del shop/web-0
add shop/web-1 -> any
network { "subnet": "10.1.1" } -> invalid-config "ipam.subnet"
network { "ranges": [[{ "subnet": "10.1.1.0/24" }], [{ "subnet": "fd00::/64" }]] }
add shop/web-0 -> 10.1.1.2, fd00::2
del shop/web-0
thaw
"#;
    assert_eq!(failure(passes), None);
}

#[test]
fn a_failure_has_the_file_the_line_what_must_be_and_what_is() {
    let network = "network { \"subnet\": \"10.1.1.0/29\" }\n";
    let told = |steps: &str| failure(&format!("{network}{steps}")).unwrap();
    insta::assert_snapshot!(told("add a/b -> 10.1.1.2\nadd a/c requesting 10.1.1.5 -> 10.1.1.9"), @"
    cases/x.txt:3: add a/c requesting 10.1.1.5
      expected: 10.1.1.9
      got:      10.1.1.5
    ");
    insta::assert_snapshot!(told("add a/b -> exhausted"), @"
    cases/x.txt:2: add a/b
      expected: exhausted
      got:      10.1.1.2
    ");
    insta::assert_snapshot!(told("add panics/b -> any"), @r#"
    cases/x.txt:2: add panics/b
      expected: any
      got:      failed "it panicked: assertion `left != right` failed: it cannot serve this namespace\n  left: Some(\"panics\")\n right: Some(\"panics\")"
    "#);
    insta::assert_snapshot!(told("del a/b"), @"
    cases/x.txt:2: del a/b
      expected: a/b holds an address
      got:      it holds none
    ");
    insta::assert_snapshot!(failure("network {\n  \"subnet\": 7\n}\n").unwrap(), @r#"
    cases/x.txt:1: network { "subnet": 7 }
      expected: a network
      got:      invalid-config "ipam.subnet: invalid range set 0: must be a string"
    "#);
}

#[test]
fn what_is_no_case_file_is_refused_with_its_line() {
    for (text, line, said) in [
        ("", 1, "no steps"),
        ("\n\nadd a/b", 3, "-> OUTCOME"),
        ("add a b -> any", 1, "not an owner"),
        ("add a/b with tier -> any", 1, "`tier` is not NAME=VALUE"),
        ("add a/b -> some", 1, "`some` is neither an address"),
        ("add a/b -> exhausted because", 1, "double quotes"),
        ("network {\n\"a\": 1\n", 1, "EOF"),
        ("network {\n\"a\": 1\n} or", 1, "expected `->`"),
        ("network {}\nrelease a/b", 2, "`release` is not a step"),
    ] {
        let wrong = parse(text).unwrap_err();
        assert!(wrong.line == line && wrong.message.contains(said), "{text:?}: {wrong:?}");
    }
}

#[test]
fn a_policy_is_called_like_any_function() {
    let mut node = define::<InTurn>(r#"{ "subnet": "10.1.2.0/29" }"#).unwrap();
    assert_eq!(node.add("shop/web-0").unwrap(), ["10.1.2.2".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!(node.book().count("pod.namespace", "shop"), 1);
    assert!(node.del("shop/web-0").unwrap() && !node.del("shop/web-0").unwrap());
}

/// Proposes the same address forever, which the ledger does not accept.
struct Stubborn;

impl Policy for Stubborn {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        InTurn::define(&configuration::get())
    }

    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let mut proposal = Proposal::new();
        proposal.assign(0, "10.1.2.2".parse().unwrap());
        Ok(proposal)
    }
}

#[test]
fn a_random_history_finds_what_breaks_and_names_its_seed() {
    let ipam = r#"{ "subnet": "10.1.2.0/28" }"#;
    histories(Native::<InTurn>::new, ipam, &["shop", "bank"], 20).unwrap();
    let broken = histories(Native::<Stubborn>::new, ipam, &["shop"], 20).unwrap_err();
    assert!(broken.what.starts_with("the ledger does not accept its proposal"), "{broken}");
    assert!(broken.to_string().ends_with("TENURE_SEED=0 repeats it"), "{broken}");
}
