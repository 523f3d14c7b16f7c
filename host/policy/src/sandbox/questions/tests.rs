//! The stored form of questions, answers and outcomes. Records of earlier versions have it, so a change here needs a new
//! format in `decisions`.

use serde_json::json;

use super::*;
use crate::sandbox::bindings::tenure::ipam::ledger::{
    Direction, LabelUsage, Place, RangeState, RangeView, Standing, Usage,
};
use crate::sandbox::bindings::tenure::ipam::types::{
    AddressRange, Assignment, Attribute, ConfigError, Cooling, Definition, Delay, Need, Pool, PoolDefinition,
    Proposal, Reason, Refusal, Request, Supply,
};
use crate::sandbox::verdict::CallVerdict;

/// Whether a value has this stored form, and is the same after it is read again.
fn is_stored_as<T: Serialize + DeserializeOwned>(value: &T, stored: serde_json::Value) {
    assert_eq!(serde_json::to_value(value).unwrap(), stored);
    let again: T = serde_json::from_value(stored).unwrap();
    assert_eq!(serde_json::to_value(again).unwrap(), serde_json::to_value(value).unwrap());
}

fn attribute() -> Attribute {
    Attribute { name: "zone".into(), value: "a".into() }
}

fn range() -> AddressRange {
    AddressRange {
        name: "one".into(),
        subnet: "10.1.0.0/24".into(),
        first: "10.1.0.1".into(),
        last: "10.1.0.9".into(),
        gateway: Some("10.1.0.1".into()),
        prefix_length: 24,
        attributes: vec![attribute()],
    }
}

fn stored_range() -> serde_json::Value {
    json!({
        "name": "one", "subnet": "10.1.0.0/24", "first": "10.1.0.1", "last": "10.1.0.9", "gateway": "10.1.0.1",
        "prefix_length": 24, "attributes": [{ "name": "zone", "value": "a" }],
    })
}

#[test]
fn each_question_has_its_stored_form() {
    let label = || Labels(vec![attribute()]);
    let none = || Labels(Vec::new());
    let with = |question: &dyn erased::Asked, stored| assert_eq!(question.stored(), stored);
    let zone = json!({ "name": "zone", "value": "a" });
    with(&Pools {}, json!(["pools", {}]));
    with(&PoolNamed { name: "a".into() }, json!(["pool-named", { "name": "a" }]));
    with(&PoolOf { address: "::1".into() }, json!(["pool-of", { "address": "::1" }]));
    with(&RangeOf { address: "::1".into() }, json!(["range-of", { "address": "::1" }]));
    let ranges = json!({ "pool": 1, "label": zone, "start": 2, "limit": 3 });
    with(&Ranges { pool: 1, label: label(), start: 2, limit: 3 }, json!(["ranges", ranges]));
    with(&StandingOf { address: "::1".into() }, json!(["standing-of", { "address": "::1" }]));
    let free = json!({ "pool": 1, "label": zone, "after": "::1", "direction": "Descending", "limit": 3 });
    let (after, direction) = (Some("::1".into()), Direction::Descending);
    with(&Free { pool: 1, label: label(), after, direction, limit: 3 }, json!(["free", free]));
    let cooling = json!({ "pool": 1, "label": null, "limit": 3 });
    with(&super::Cooling { pool: 1, label: none(), limit: 3 }, json!(["cooling", cooling]));
    with(&Last { pool: 1, label: none() }, json!(["last", { "pool": 1, "label": null }]));
    with(&UsageOf { pool: 1, label: label() }, json!(["usage-of", { "pool": 1, "label": zone }]));
    let usage_by = json!({ "pool": 1, "label": "zone", "after": null, "limit": 3 });
    let by = |within| UsageBy { pool: 1, within, label: "zone".into(), after: None, limit: 3 };
    with(&by(none()), json!(["usage-by", usage_by]));
    // What only this version asks.
    let usage_by = json!({ "pool": 1, "within": zone, "label": "zone", "after": null, "limit": 3 });
    with(&by(label()), json!(["usage-by", usage_by]));
    let several = || Labels(vec![attribute(), attribute()]);
    with(&Last { pool: 1, label: several() }, json!(["last", { "pool": 1, "label": [zone, zone] }]));
    let count_of = json!({ "name": "team", "value": "red" });
    with(&CountOf { name: "team".into(), value: "red".into() }, json!(["count-of", count_of]));
    with(&LastOf { name: "a/b".into() }, json!(["last-of", { "name": "a/b" }]));
    with(&Get {}, json!(["configuration.get", {}]));
    with(&DefinitionAttributes {}, json!(["configuration.definition-attributes", {}]));
    with(&ConfiguredRanges { path: "ipam".into() }, json!(["configuration.ranges", { "path": "ipam" }]));
}

/// Questions of any kind.
mod erased {
    use super::*;

    pub(super) trait Asked {
        /// The function and the arguments.
        fn stored(&self) -> serde_json::Value;
    }

    impl<Q: LedgerQuestion> Asked for Q {
        fn stored(&self) -> serde_json::Value {
            json!([Q::FUNCTION, self])
        }
    }
}

#[test]
fn each_answer_has_its_stored_form() {
    let zone = json!([{ "name": "zone", "value": "a" }]);
    is_stored_as(&range(), stored_range());
    let pool = Pool {
        name: "0".into(),
        supply: Supply::Configuration,
        need: Need::Optional,
        attributes: vec![attribute()],
    };
    is_stored_as(
        &pool,
        json!({ "name": "0", "supply": "Configuration", "need": "Optional", "attributes": zone }),
    );
    let usage = Usage { total: 3, held: 2, cooling: 1 };
    let stored_usage = json!({ "total": 3, "held": 2, "cooling": 1 });
    is_stored_as(&usage, stored_usage.clone());
    is_stored_as(
        &RangeView { range: range(), state: RangeState::Draining, usage },
        json!({ "range": stored_range(), "state": "Draining", "usage": stored_usage }),
    );
    is_stored_as(&LabelUsage { value: "a".into(), usage }, json!({ "value": "a", "usage": stored_usage }));
    is_stored_as(&Standing::Cooling, json!("Cooling"));
    is_stored_as(&Standing::Other("odd".into()), json!({ "Other": "odd" }));
    is_stored_as(&Place { pool: 1, address: "::1".into() }, json!({ "pool": 1, "address": "::1" }));
    let config = Config { name: "pods".into(), ipam: "{}".into(), attributes: vec![attribute()] };
    is_stored_as(&config, json!({ "name": "pods", "ipam": "{}", "attributes": zone }));
    let wrong = || ConfigError { path: "ipam".into(), message: "wrong".into(), attributes: Vec::new() };
    let answer: <ConfiguredRanges as LedgerQuestion>::Answer = Err(wrong());
    is_stored_as(&answer, json!({ "Err": { "path": "ipam", "message": "wrong", "attributes": [] } }));
    let answer: <ConfiguredRanges as LedgerQuestion>::Answer = Ok(vec![vec![range()]]);
    is_stored_as(&answer, json!({ "Ok": [[stored_range()]] }));
}

#[test]
fn what_is_given_and_each_outcome_have_their_stored_forms() {
    let zone = json!([{ "name": "zone", "value": "a" }]);
    let request =
        Request { network: "pods".into(), requested: vec!["::1".into()], attributes: vec![attribute()] };
    is_stored_as(&request, json!({ "network": "pods", "requested": ["::1"], "attributes": zone }));
    let is_recorded_as = |verdict: CallVerdict<'_>, stored: serde_json::Value| {
        assert_eq!(serde_json::to_value(&verdict).unwrap(), stored);
        assert_eq!(serde_json::to_value(verdict.outcome().unwrap()).unwrap(), stored);
    };
    let assignment = Assignment { pool: 0, address: "::1".into(), attributes: Vec::new() };
    let proposal =
        Proposal { assignments: vec![assignment], tags: vec![attribute()], attributes: Vec::new() };
    let stored = json!({
        "assignments": [{ "pool": 0, "address": "::1", "attributes": [] }], "tags": zone, "attributes": [],
    });
    is_recorded_as(CallVerdict::Proposal(&proposal), json!({ "proposal": stored }));
    let pool = PoolDefinition {
        name: "0".into(),
        supply: Supply::Host,
        need: Need::Always,
        ranges: vec![range()],
        attributes: Vec::new(),
    };
    let definition = Definition { pools: vec![pool], cooling: Cooling::Strict, attributes: Vec::new() };
    let stored = json!({
        "pools": [{
            "name": "0", "supply": "Host", "need": "Always", "ranges": [stored_range()], "attributes": [],
        }],
        "cooling": "Strict",
        "attributes": [],
    });
    is_recorded_as(CallVerdict::Definition(&definition), json!({ "definition": stored }));
    let reason = || Reason { message: "none".into(), attributes: Vec::new() };
    let stored = json!({ "message": "none", "attributes": [] });
    for (refusal, case) in [
        (Refusal::Exhausted(reason()), "Exhausted"),
        (Refusal::Unavailable(reason()), "Unavailable"),
        (Refusal::Denied(reason()), "Denied"),
        (Refusal::OverQuota(reason()), "OverQuota"),
        (Refusal::Other(reason()), "Other"),
    ] {
        is_recorded_as(CallVerdict::Refusal(&refusal), json!({ "refusal": { case: stored } }));
    }
    let delay = Delay { message: "none".into(), retry_after_seconds: Some(30), attributes: Vec::new() };
    let stored = json!({ "message": "none", "retry_after_seconds": 30, "attributes": [] });
    is_recorded_as(CallVerdict::Refusal(&Refusal::NotYet(delay)), json!({ "refusal": { "NotYet": stored } }));
    let failure = CallVerdict::Failure { kind: "trap", cause: "unreachable".into() };
    is_recorded_as(failure, json!({ "failure": { "kind": "trap", "cause": "unreachable" } }));
    is_recorded_as(CallVerdict::NotRecorded("last()".into()), json!({ "not-recorded": "last()" }));
}

/// Whatever form a policy writes an address in, it is the same address, and the host writes it in one form.
#[test]
fn addresses_have_one_text_and_are_read_in_any() {
    use tenure_ledger::Defined;
    use tenure_types::{Definer, Moment, NetworkName};

    let end = |last: &str| format!("2001:db8::{last}");
    let range = AddressRange {
        name: String::new(),
        subnet: "2001:DB8:0::/64".into(),
        first: "2001:0db8:0:0:0:0:0:A".into(),
        last: "2001:db8::0:F".into(),
        gateway: None,
        prefix_length: 64,
        attributes: Vec::new(),
    };
    let pool = PoolDefinition {
        name: "six".into(),
        supply: Supply::Configuration,
        need: Need::Always,
        ranges: vec![range],
        attributes: Vec::new(),
    };
    let definition = Definition { pools: vec![pool], cooling: Cooling::Strict, attributes: Vec::new() };
    let definition = crate::sandbox::answer::definition(&definition).unwrap();
    let (name, config) = (NetworkName::new("net").unwrap(), std::sync::Arc::default());
    let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
    let book = Book::defined(&name, defined, Moment::default()).unwrap();
    let free = |after: Option<&str>| {
        let (after, direction) = (after.map(str::to_owned), Direction::Ascending);
        Free { pool: 0, label: Labels(Vec::new()), after, direction, limit: 2 }.of_book(&book)
    };
    assert_eq!(free(None), [end("a"), end("b")]);
    for after in
        ["2001:db8::b", "2001:DB8::B", "2001:0db8:0000:0000:0000:0000:0000:000b", "2001:db8::0.0.0.11"]
    {
        assert_eq!(free(Some(after)), [end("c"), end("d")], "{after}");
        let standing = StandingOf { address: after.into() }.of_book(&book);
        assert!(matches!(standing, Standing::Free), "{after} is {standing:?}");
        let range = RangeOf { address: after.into() }.of_book(&book).unwrap();
        assert_eq!((range.subnet, range.first, range.last), ("2001:db8::/64".into(), end("a"), end("f")));
    }
    for other in ["2001:db8::b%eth0", "2001:db8::b/64", "[2001:db8::b]", " 2001:db8::b", "010.1.0.1", ""] {
        let standing = StandingOf { address: other.into() }.of_book(&book);
        assert!(matches!(standing, Standing::Outside), "{other:?} is {standing:?}");
    }
}
