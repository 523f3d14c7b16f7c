//! Components with several memories are admitted, and their sum counts.

use crate::node::{self, Node};
use tenure_policy::embedded;
use tenure_types::{ErrorCode, PolicyName};
use wasmparser::{Parser, Payload};

/// A component with additional memories of these numbers of pages.
fn with_memories(component: &[u8], pages: &[u32]) -> Vec<u8> {
    let mut depth = 0;
    let mut modules = 0;
    for payload in Parser::new(0).parse_all(component) {
        match payload.unwrap() {
            Payload::ModuleSection { .. } => {
                modules += u8::from(depth == 0);
                depth += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    let mut bytes = component.to_vec();
    for (index, pages) in (modules..).zip(pages) {
        let module = wat::parse_str(format!("(module (memory {pages}))")).unwrap();
        // A core module section, and a core instance section with one instance of that module, without arguments.
        bytes.extend([1, u8::try_from(module.len()).unwrap()]);
        bytes.extend(module);
        bytes.extend([2, 4, 1, 0, index, 0]);
    }
    bytes
}

/// The pages of one MiB.
const MIB: u32 = 16;

#[test]
fn three_memories_serve() {
    let policy = node::load("three", &with_memories(embedded::HOST_LOCAL, &[MIB, MIB]));
    let mut node = Node::define(&policy, r#"{"subnet": "10.1.2.0/24"}"#).unwrap();
    assert_eq!(node.add("c1", &[]).unwrap(), ["10.1.2.2"]);
}

#[test]
fn their_sum_counts_however_it_is_spread() {
    let spread = node::load("spread", &with_memories(embedded::HOST_LOCAL, &[8 * MIB, 8 * MIB]));
    let error = Node::define(&spread, r#"{"subnet": "10.1.2.0/24"}"#).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyFailed);
    assert!(error.cause.contains("it wanted more than 16 MiB of memory (sandbox.memory_mib)"), "{error}");

    let hostile = node::load("beside", &with_memories(&node::build("tenure-hostile"), &[14 * MIB]));
    let define = |misbehaviour: &str| {
        let ipam = format!(r#"{{"subnet": "10.1.2.0/24", "misbehave": "{misbehaviour}"}}"#);
        Node::define(&hostile, &ipam)
    };
    define("behave").unwrap().add("c1", &[]).unwrap();
    let error = define("grow").unwrap().add("c1", &[]).unwrap_err();
    assert!(error.cause.contains("it wanted more than 16 MiB of memory"), "{error}");
}

#[test]
fn more_than_four_are_refused() {
    let bytes = with_memories(embedded::HOST_LOCAL, &[1; 4]);
    let error =
        node::runtime().load(&PolicyName::new("five").unwrap(), &bytes, None).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyUnloadable);
    assert!(error.cause.ends_with("it has 5 memories, and the limit is 4"), "{error}");
}
