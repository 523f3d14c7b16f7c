//! The interface grows without breaking a compiled component: each frozen version is compared with the next one, and its kept components
//! load and answer.
//!
//! Nothing is frozen before the first release, so a made-up version proves that this would notice.

mod compare;
mod shape;

use std::fs;
use std::path::{Path, PathBuf};

use crate::node::{Node, build_example, load};
use compare::complaints;
use tenure_policy::embedded;
use wit_component::targets;
use wit_parser::Resolve;

/// The version that may be edited.
const NEXT: &str = "next";

/// The interface's definition in each version's folder.
const DEFINITION: &str = "ipam.wit";

/// The folder of compiled components in each frozen version's folder.
const COMPILED: &str = "compiled";

/// Lists what is wrong with the versions in a folder; and how many frozen ones there are, and how many components of theirs.
fn check(versions: &Path) -> (Vec<String>, usize, usize) {
    let definition = |version: &Path| fs::read_to_string(version.join(DEFINITION)).unwrap();
    let next = definition(&versions.join(NEXT));
    let (mut wrong, mut frozen, mut components) = (Vec::new(), 0, 0);
    for version in entries(versions).into_iter().filter(|version| !version.ends_with(NEXT)) {
        frozen += 1;
        let name = version.file_name().unwrap().to_string_lossy().into_owned();
        wrong.extend(
            complaints(&definition(&version), &next).into_iter().map(|cause| format!("{name}: {cause}")),
        );
        let compiled = entries(&version.join(COMPILED));
        if compiled.is_empty() {
            wrong.push(format!("{name} has no compiled components"));
        }
        for component in compiled {
            components += 1;
            let policy = load("kept", &fs::read(&component).unwrap());
            let mut node = Node::define(&policy, r#"{"subnet": "10.1.2.0/24"}"#).unwrap();
            if let Err(error) = node.add("c1", &[]) {
                wrong.push(format!("{}: {error}", component.display()));
            }
        }
    }
    (wrong, frozen, components)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The folder of versions.
fn interface() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/ipam")
}

#[test]
fn every_frozen_version_still_loads() {
    let (wrong, ..) = check(&interface());
    assert!(wrong.is_empty(), "wit/EVOLUTION.md forbids:\n{}", wrong.join("\n"));
}

#[test]
fn a_made_up_version_is_compared_and_its_components_are_loaded_and_called() {
    let folder = tempfile::tempdir().unwrap();
    let next = fs::read_to_string(interface().join(NEXT).join(DEFINITION)).unwrap();
    // The made-up version is older: it lacks a function of an imported interface, which has been added since.
    let (before, rest) = next.split_once("    /// The last addresses of a name").unwrap();
    let (_, after) = rest.split_once("-> list<place>;\n").unwrap();
    let frozen = folder.path().join("v0.1");
    fs::create_dir_all(folder.path().join(NEXT)).unwrap();
    fs::create_dir_all(frozen.join(COMPILED)).unwrap();
    fs::write(folder.path().join(NEXT).join(DEFINITION), &next).unwrap();
    fs::write(frozen.join(DEFINITION), format!("{before}{after}")).unwrap();
    assert_eq!(check(folder.path()), (vec!["v0.1 has no compiled components".into()], 1, 0));
    fs::write(frozen.join(COMPILED).join("host-local.wasm"), embedded::HOST_LOCAL).unwrap();
    fs::write(frozen.join(COMPILED).join("highest-first.wasm"), embedded::HIGHEST_FIRST).unwrap();
    assert_eq!(check(folder.path()), (vec![], 1, 2));
    // The other way round, the function is gone.
    let (wrong, now) =
        (complaints(&next, &format!("{before}{after}")), "the function ledger.last-of is gone");
    assert_eq!(wrong, [now]);
}

/// Each line of the table in EVOLUTION.md, made with the present interface.
#[test]
fn what_was_measured_is_refused_and_what_loads_is_not() {
    let next = fs::read_to_string(interface().join(NEXT).join(DEFINITION)).unwrap();
    let changed = |from: &str, to: &str| {
        // A package's version stands where another one uses it, too.
        let text = if from.contains('@') { next.replace(from, to) } else { next.replacen(from, to, 1) };
        assert_ne!(text, next, "there is no {from:?}");
        complaints(&next, &text)
    };
    for (from, to) in [
        // A new function in an imported interface, a new type, a new imported interface, a new world, other words.
        (
            "    /// The network's pools,",
            "    owner-of: func(address: string) -> option<string>;\n    /// The network's pools,",
        ),
        ("    /// A named value:", "    record pair { left: u32, right: u32 }\n    /// A named value:"),
        ("    import log;", "    import log;\n    import clock;"),
        ("/// A policy.\n", "world auditor { include policy; export stateful-allocation; }\n/// A policy.\n"),
        ("/// A policy.\n", "/// What a policy is.\n"),
    ] {
        let text = next.replacen(from, to, 1);
        assert_ne!(text, next, "there is no {from:?}");
        let text =
            text.replacen("world policy {", "interface clock { now: func() -> u32; }\nworld policy {", 1);
        assert_eq!(complaints(&next, &text), Vec::<String>::new(), "{from:?} to {to:?}");
    }
    for (from, to, cause) in [
        (
            "    variant cooling {",
            "    variant cooling { eager,",
            "the type types.cooling was variant { strict, ",
        ),
        (
            "    record attribute {",
            "    record attribute { note: option<string>,",
            "the type types.attribute was record { name: string, ",
        ),
        (
            "    propose: func(request: request) -> result<proposal, refusal>;",
            "    propose: func(request: request) -> result<proposal, refusal>;\n    release: func(request: request);",
            "components export allocation, so it cannot get the function release",
        ),
        ("@0.1.0", "@0.2.0", "the version was 0.1 and is 0.2"),
        (
            "count-of: func(name: string, value: string) -> u32;",
            "count-of: func(name: string) -> u32;",
            "the function ledger.count-of was func(name: string, value: string) -> u32 and is ",
        ),
        (
            "    export allocation;",
            "    export allocation;\n    export stateful-allocation;",
            "the world policy exported network, allocation and exports ",
        ),
        ("    import log;\n", "", "the world policy no longer imports log"),
        (
            "    record place {\n        pool: u32,",
            "    record place {\n        pool: u8,",
            "the type ledger.place was record { pool: u32, ",
        ),
    ] {
        let wrong = changed(from, to);
        assert!(wrong.iter().any(|found| found.starts_with(cause)), "{cause:?} is not in {wrong:?}");
    }
}

/// An addition to the interface: each text, and what takes its place.
type Addition = &'static [(&'static str, &'static str)];

/// Later versions are expected to add these, each by its name.
const LATER: [(&str, Addition); 6] = [
    (
        "the owner of an address",
        &[(
            "    /// The network's pools, in the order",
            "    owner-of: func(address: string) -> option<owner>;
    variant owner { attachment(string), claim(string), other(string) }
    /// The network's pools, in the order",
        )],
    ),
    (
        "typed getters of what a request's attributes say as text",
        &[(
            "    /// The network's pools, in the order",
            "    requested-at: func() -> u32;
    number-of: func(name: string) -> option<u32>;
    /// The network's pools, in the order",
        )],
    ),
    (
        "the identity of the node",
        &[
            (
                NEW_INTERFACE,
                "interface node { name: func() -> string; uid: func() -> option<string>; }\n/// The daemon's log; the host",
            ),
            (NEW_IMPORT, "    import log;\n    import node;\n"),
        ],
    ),
    (
        "labels and annotations",
        &[
            (
                NEW_INTERFACE,
                "interface metadata {
    use types.{attribute};
    labels: func() -> list<attribute>;
    annotations: func(start: u32, limit: u32) -> list<attribute>;
}
/// The daemon's log; the host",
            ),
            (NEW_IMPORT, "    import log;\n    import metadata;\n"),
        ],
    ),
    (
        "routes and the MTU that a network's pods get",
        &[
            (
                NEW_INTERFACE,
                "interface link {
    record route { destination: string, gateway: option<string> }
    routes: func() -> list<route>;
    mtu: func() -> option<u32>;
}
/// The daemon's log; the host",
            ),
            (NEW_IMPORT, "    import log;\n    import link;\n"),
        ],
    ),
    (
        "a further ability",
        &[(
            "/// A policy.\n",
            "interface release { use types.{request}; released: func(request: request); }
world releasing { include policy; export release; }
/// A policy.\n",
        )],
    ),
];

/// A new interface is written before this one, and imported after it.
const NEW_INTERFACE: &str = "/// The daemon's log; the host";
const NEW_IMPORT: &str = "    import log;\n";

/// The interface with an addition.
fn with(text: &str, addition: Addition) -> String {
    addition.iter().fold(text.to_owned(), |text, (from, to)| {
        // A world that imports the log imports what is new, too.
        let later = if *from == NEW_IMPORT { text.replace(from, to) } else { text.replacen(from, to, 1) };
        assert_ne!(later, text, "there is no {from:?}");
        later
    })
}

/// Whether a component fits a world of an interface: `policy`, or `planner` of the package of planning.
fn fits(text: &str, world: &str, component: &[u8]) -> Result<(), String> {
    let mut resolve = Resolve::default();
    let main = resolve.push_source("ipam.wit", text).unwrap();
    let world = resolve.select_world(&[main], Some(world)).unwrap();
    targets(&resolve, world, component).map_err(|error| format!("{error:#}"))
}

#[test]
fn components_of_today_fit_what_later_versions_add() {
    let next = fs::read_to_string(interface().join(NEXT).join(DEFINITION)).unwrap();
    let planner = build_example("cluster_range");
    let stateful = build_example("rotation");
    let components: [(&str, &[u8]); 4] = [
        ("policy", embedded::HOST_LOCAL),
        ("policy", embedded::HIGHEST_FIRST),
        ("tenure:supply/planner@0.1.0-rc.1", &planner),
        ("stateful", &stateful),
    ];
    // Each alone, and then all together.
    let mut later = next.clone();
    let alone = LATER.iter().map(|(name, addition)| (*name, with(&next, addition)));
    let mut versions: Vec<_> = alone.collect();
    LATER.iter().for_each(|(_, addition)| later = with(&later, addition));
    versions.extend([("nothing", next.clone()), ("all of them", later.clone())]);
    for (name, text) in &versions {
        assert_eq!(complaints(&next, text), Vec::<String>::new(), "{name}");
        for (world, component) in components {
            assert_eq!(fits(text, world, component), Ok(()), "{name}: {world}");
        }
    }
    // The check notices what breaks them.
    let broken = later.replacen("    record attribute {", "    record attribute { note: option<string>,", 1);
    fits(&broken, "policy", embedded::HOST_LOCAL).unwrap_err();
    let broken = later.replacen(
        "    propose: func(request: request) ->",
        "    propose: func(request: request, more: u32) ->",
        1,
    );
    fits(&broken, "policy", embedded::HOST_LOCAL).unwrap_err();
}
