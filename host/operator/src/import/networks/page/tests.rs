use std::collections::BTreeMap;

use super::super::definition::Definition;
use super::super::proposal::FoundDefinition;
use super::super::settings::WhereaboutsSettings;
use super::*;

fn found(label: &str, config: &str, more: ObjectMeta) -> FoundDefinition {
    let name = label.split('/').next_back().map(str::to_owned);
    let namespace = label.split('/').next().map(str::to_owned);
    let metadata = ObjectMeta { name, namespace, ..more };
    Ok(Definition::read(label.to_owned(), metadata, config, &WhereaboutsSettings::default())
        .unwrap()
        .unwrap())
}

const STORAGE: &str = r#"{"cniVersion": "1.0.0", "name": "storage", "type": "macvlan", "master": "eth1",
    "ipam": {"type": "whereabouts", "range": "10.80.0.0/20", "exclude": ["10.80.0.0/28"]}}"#;

#[test]
fn each_definition_is_beside_its_pool() {
    let annotations =
        BTreeMap::from([(LAST_APPLIED, "{}"), ("k8s.v1.cni.cncf.io/resourceName", "intel.com/vf")]);
    let annotations =
        annotations.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let more = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
    let proposal = NetworkProposal::new(vec![found("shop/storage", STORAGE, more)], 3);
    let expected = r#"# AddressPool storage, for shop/storage
# 10.80.0.0/20 has 64 blocks of /26, for 3 nodes
apiVersion: ipam.tenure.dev/v1alpha1
kind: AddressPool
metadata:
  name: storage
spec:
  disabled: true
  exclusions:
  - cidr: 10.80.0.0/28
  gateway:
    none: true
  ipv4:
    blockPrefix: 26
    cidrs:
    - 10.80.0.0/20
  routes:
  - dst: 10.80.0.0/20
---
# NetworkAttachmentDefinition shop/storage, of AddressPool storage
# now: {"cniVersion":"1.0.0","ipam":{"exclude":["10.80.0.0/28"],"range":"10.80.0.0/20","type":"whereabouts"},"master":"eth1","name":"storage","type":"macvlan"}
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  annotations:
    k8s.v1.cni.cncf.io/resourceName: intel.com/vf
  name: storage
  namespace: shop
spec:
  config: |
    {
      "cniVersion": "1.0.0",
      "ipam": {
        "pools": [
          "storage"
        ],
        "type": "tenure"
      },
      "master": "eth1",
      "name": "storage",
      "type": "macvlan"
    }
---
# /etc/tenure/tenured.toml of each node:
#   [cluster.networks]
#   "storage" = ["storage"]
#   [networks."storage"]
#   ipam = { type = "tenure", policy = "cluster-range", pools = ["storage"], families = ["ipv4"] }
"#;
    assert_eq!(page(&proposal, 3).unwrap(), expected);
}

/// Whoever may write a NetworkAttachmentDefinition must not write another object with the hand of the person who applies the page.
#[test]
fn no_text_of_a_definition_leaves_its_place() {
    let line = "\u{2028}kind: Secret\u{85}---\r\nkind: Secret\n";
    let mut config: Value = serde_json::from_str(STORAGE).unwrap();
    config["master"] = line.into();
    let mut proposal =
        NetworkProposal::new(vec![found("shop/storage", &config.to_string(), ObjectMeta::default())], 3);
    let problem = super::super::problem::NetworkProblem::Unread(line.to_owned());
    proposal.problems.push(("shop/broken".to_owned(), problem));
    let text = page(&proposal, 3).unwrap();
    assert!(text.chars().all(|character| character == '\n' || printable::is_harmless(character)), "{text:?}");
    let is_led =
        |line: &str| line.starts_with("kind: Secret") || line.trim_start().starts_with("kind: Secret");
    assert!(text.lines().all(|line| !is_led(line)), "{text}");
    let documents: Vec<&str> = text.split("---\n").collect();
    let config = documents[1].split_once("config: |\n").unwrap().1;
    assert_eq!(serde_json::from_str::<Value>(config).unwrap()["master"], line);
}

#[test]
fn what_a_person_must_decide_is_said() {
    let small = r#"{"name": "small", "ipam": {"type": "whereabouts", "range": "10.1.0.0/29", "network_name": "a",
        "node_slice_size": "/30"}}"#;
    let again = small.replace("\"a\"", "\"b\"");
    let shared = small.replace("\"small\"", "\"other\"");
    let all = [("x/small", small), ("x/again", &again), ("x/shared", &shared)];
    let all = all.map(|(label, config)| found(label, config, ObjectMeta::default()));
    let text = page(&NetworkProposal::new(all.into(), 3), 3).unwrap();
    for words in [
        "# 10.1.0.0/29 has 2 blocks of /30, for 3 nodes, too few for each to have one",
        "# some of its addresses are also those of again, in another overlap group",
        "# its network is small as that of x/small: a pool serves one network",
        "# nodes get blocks of its node_slice_size",
        "#   \"small\" = [\"small\",\"again\"]",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}
