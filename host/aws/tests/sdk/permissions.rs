//! The permissions that the book gives a node, against what EC2 checks for each call of the adapter.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// Each call with the types of resources that EC2 checks for it, as AWS's service authorization reference has them. `*` stands for a call
/// that is not bound to resources.
const CHECKED: &[(&str, &[&str])] = &[
    ("AssignPrivateIpAddresses", &["network-interface"]),
    ("AttachNetworkInterface", &["instance", "network-interface"]),
    ("CreateNetworkInterface", &["network-interface", "security-group", "subnet"]),
    ("CreateTags", &["network-interface"]),
    ("DeleteNetworkInterface", &["network-interface"]),
    ("DescribeInstanceTypes", &["*"]),
    ("DescribeNetworkInterfaces", &["*"]),
    ("DescribeSubnets", &["*"]),
    ("DetachNetworkInterface", &["instance", "network-interface"]),
    // The instance if the attachment is changed, the security groups if those are.
    ("ModifyNetworkInterfaceAttribute", &["instance", "network-interface", "security-group"]),
    ("UnassignPrivateIpAddresses", &["network-interface"]),
];

/// The calls that the page adds in words, for nodes with IPv6.
const IN_WORDS: [&str; 2] = ["AssignIpv6Addresses", "UnassignIpv6Addresses"];

/// A file of the repository, by its path from this crate.
fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The strings of a value that is one, or a list of them.
fn strings(value: &Value) -> Vec<&str> {
    let one = value.as_str().into_iter();
    one.chain(value.as_array().into_iter().flatten().filter_map(Value::as_str)).collect()
}

/// The calls that the page's statements allow, each with a type of resource.
fn allowed(page: &str) -> BTreeSet<(String, String)> {
    let mut allowed = BTreeSet::new();
    for block in page.split("```json\n").skip(1) {
        let statements: Value = serde_json::from_str(block.split("```").next().unwrap()).unwrap();
        let statements = statements.as_array().cloned().unwrap_or_else(|| vec![statements]);
        for statement in &statements {
            assert_eq!(statement["Effect"], "Allow", "{statement}");
            for resource in strings(&statement["Resource"]) {
                let resource = resource.rsplit(':').next().unwrap();
                let resource = resource.strip_suffix("/*").unwrap_or(resource);
                for action in strings(&statement["Action"]) {
                    let call = action.strip_prefix("ec2:").unwrap();
                    allowed.insert((call.to_owned(), resource.to_owned()));
                }
            }
        }
    }
    allowed
}

#[test]
fn the_documented_policy_allows_each_call_on_each_resource_that_ec2_checks() {
    let page = read("../../deploy/book/src/aws-iam.md");
    let checked = CHECKED.iter().flat_map(|(call, resources)| {
        resources.iter().map(|resource| ((*call).to_owned(), (*resource).to_owned()))
    });
    assert_eq!(allowed(&page), checked.collect());
    assert!(IN_WORDS.iter().all(|call| page.contains(&format!("`ec2:{call}`"))));
    // Each call of the adapter names itself in its errors.
    let requests = read("src/sdk/requests.rs");
    let named: BTreeSet<&str> = requests
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| text.len() > 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .filter(|text| text.starts_with(|first: char| first.is_ascii_uppercase()))
        .collect();
    let known = CHECKED.iter().map(|(call, _)| *call).chain(IN_WORDS);
    assert_eq!(named, known.collect());
}
