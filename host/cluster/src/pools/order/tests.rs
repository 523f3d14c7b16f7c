//! The table, row by row.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;

use super::*;

fn selector(labels: &[(&str, &str)]) -> Option<LabelSelector> {
    let labels: std::collections::BTreeMap<_, _> = labels.iter().copied().collect();
    Some(serde_json::from_value(json!({ "matchLabels": labels })).unwrap())
}

/// A network: `plain` and `spare` serve all, `web` pods with app=web, `red` namespaces with team=red, `redweb` both.
fn rules() -> Vec<PoolSelectors> {
    vec![
        PoolSelectors::new("plain", None, None),
        PoolSelectors::new("web", selector(&[("app", "web")]), None),
        PoolSelectors::new("red", None, selector(&[("team", "red")])),
        PoolSelectors::new("redweb", selector(&[("app", "web")]), selector(&[("team", "red")])),
        PoolSelectors::new("spare", None, None),
    ]
}

fn labelled(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> ObjectLabels {
    let map = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    ObjectLabels { labels: map(labels), annotations: map(annotations), ..ObjectLabels::default() }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// One row: what is given, and what follows.
struct Row<'a> {
    requested: &'a [&'a str],
    pod: ObjectLabels,
    configured: &'a [&'a str],
    namespace: ObjectLabels,
    requires_match: bool,
}

impl Row<'_> {
    fn empty() -> Self {
        let none = ObjectLabels::default;
        Row { requested: &[], pod: none(), configured: &[], namespace: none(), requires_match: false }
    }

    fn chosen(&self, rules: &[PoolSelectors]) -> Result<Vec<String>, PoolRefusal> {
        let of_node = owned(&["plain", "web", "red", "redweb", "spare", "storage"]);
        candidates(&PoolQuestion {
            network: "pods",
            rules,
            of_node: &of_node,
            pod: "shop/front",
            requested: &owned(self.requested),
            configured: (!self.configured.is_empty()).then(|| owned(self.configured)).as_deref(),
            labels: &self.pod,
            namespace: &self.namespace,
            requires_match: self.requires_match,
        })
    }
}

#[test]
fn the_most_exact_word_decides() {
    let web = labelled(&[("app", "web")], &[]);
    let red = || labelled(&[("team", "red")], &[]);
    let both = |pools: &str| labelled(&[("app", "web")], &[(POOLS_ANNOTATION, pools)]);
    let namespace = |pools: &str| labelled(&[("team", "red")], &[(POOLS_ANNOTATION, pools)]);
    let rows: [(&str, Row<'_>, &[&str]); 11] = [
        ("nothing", Row::empty(), &["plain", "spare"]),
        ("namespace selector", Row { namespace: red(), ..Row::empty() }, &["red"]),
        ("pod selector", Row { pod: web.clone(), ..Row::empty() }, &["web"]),
        ("both selectors", Row { pod: web.clone(), namespace: red(), ..Row::empty() }, &["redweb"]),
        ("namespace", Row { pod: web.clone(), namespace: namespace("spare"), ..Row::empty() }, &["spare"]),
        (
            "configuration",
            Row { pod: web, configured: &["spare", "web"], namespace: namespace("red"), ..Row::empty() },
            &["spare", "web"],
        ),
        (
            "pod",
            Row {
                pod: both("red, plain"),
                configured: &["spare"],
                namespace: namespace("web"),
                ..Row::empty()
            },
            &["red", "plain"],
        ),
        (
            "address",
            Row { requested: &["web"], pod: both("red"), configured: &["spare"], ..Row::empty() },
            &["web"],
        ),
        ("another network's pool", Row { pod: both("storage"), ..Row::empty() }, &["web"]),
        ("its own among them", Row { pod: both("storage,spare"), ..Row::empty() }, &["spare"]),
        (
            "a match that is required",
            Row { namespace: red(), requires_match: true, ..Row::empty() },
            &["red"],
        ),
    ];
    for (what, row, expected) in rows {
        assert_eq!(row.chosen(&rules()), Ok(owned(expected)), "{what}");
    }
}

#[test]
fn two_equally_exact_pools_are_refused_with_both_names() {
    let mut rules = rules();
    rules.push(PoolSelectors::new("other", selector(&[("tier", "gold")]), None));
    let gold = labelled(&[("app", "web"), ("tier", "gold")], &[]);
    let words = "AddressPools web and other of network pods both select pod shop/front by podSelector";
    let row = Row { pod: gold.clone(), ..Row::empty() };
    assert_eq!(row.chosen(&rules), Err(PoolRefusal::Ambiguous(words.to_owned())));
    let exact = Row { pod: gold.clone(), namespace: labelled(&[("team", "red")], &[]), ..Row::empty() };
    assert_eq!(exact.chosen(&rules), Ok(owned(&["redweb"])), "a more exact one decides");
    let named = labelled(&[("app", "web"), ("tier", "gold")], &[(POOLS_ANNOTATION, "web")]);
    assert_eq!(Row { pod: named, ..Row::empty() }.chosen(&rules), Ok(owned(&["web"])), "and so does a word");
}

#[test]
fn a_pool_that_does_not_exist_is_refused_by_its_name() {
    let refusal = |row: Row<'_>| match row.chosen(&rules()) {
        Err(PoolRefusal::Unmatched(words)) => words,
        other => panic!("{other:?}"),
    };
    let words = refusal(Row { pod: labelled(&[], &[(POOLS_ANNOTATION, "plian")]), ..Row::empty() });
    assert_eq!(
        words,
        "annotation ipam.tenure.dev/pools of pod shop/front names AddressPool plian, which no network of this node has; network pods has plain, web, red, redweb, spare"
    );
    let words = refusal(Row { configured: &["storage"], ..Row::empty() });
    assert!(words.starts_with(
        "ipam.pools of the CNI configuration names AddressPool storage, which network pods does not have"
    ));
}

#[test]
fn a_match_that_is_required_never_falls_back_to_the_default() {
    let required = || labelled(&[], &[(MATCH_ANNOTATION, "true")]);
    for row in [
        Row { requires_match: true, ..Row::empty() },
        Row { pod: required(), ..Row::empty() },
        Row { namespace: required(), ..Row::empty() },
    ] {
        let refused = row.chosen(&rules()).unwrap_err().to_string();
        assert!(refused.starts_with("no AddressPool of network pods selects pod shop/front"), "{refused}");
    }
    let declined = labelled(&[], &[(MATCH_ANNOTATION, "false")]);
    assert_eq!(Row { pod: declined, ..Row::empty() }.chosen(&rules()), Ok(owned(&["plain", "spare"])));
    let selecting: Vec<_> = rules().into_iter().filter(PoolSelectors::has_selectors).collect();
    let refused = Row::empty().chosen(&selecting).unwrap_err().to_string();
    assert!(refused.ends_with("and each of them has a selector"), "{refused}");
}

#[test]
fn an_empty_selector_selects_everything_and_an_unreadable_one_nothing() {
    let all = PoolSelectors::new("all", selector(&[]), None);
    let odd = json!({ "matchExpressions": [{ "key": "app", "operator": "Resembles", "values": ["web"] }] });
    let odd = PoolSelectors::new("odd", Some(serde_json::from_value(odd).unwrap()), None);
    assert_eq!(Row::empty().chosen(&[all, odd.clone()]), Ok(owned(&["all"])));
    assert!(Row::empty().chosen(&[odd]).is_err(), "nor is it a default");
}

#[test]
fn a_pool_for_claims_serves_nobody_by_another_row() {
    let mut kept = rules();
    kept.insert(0, PoolSelectors::for_claims("names"));
    assert_eq!(Row::empty().chosen(&kept), Ok(owned(&["plain", "spare"])));
    let configured = Row { configured: &["names", "plain"], ..Row::empty() };
    assert_eq!(configured.chosen(&kept), Ok(owned(&["plain"])));
    for row in [
        Row { requested: &["names"], ..Row::empty() },
        Row { configured: &["names"], ..Row::empty() },
        Row { pod: labelled(&[], &[(POOLS_ANNOTATION, "names")]), ..Row::empty() },
        Row { namespace: labelled(&[], &[(POOLS_ANNOTATION, "plain,names")]), ..Row::empty() },
    ] {
        let refused = row.chosen(&kept).unwrap_err().to_string();
        assert!(
            refused.contains("AddressPool names, which keeps its addresses for AddressClaims"),
            "{refused}"
        );
    }
}

#[test]
fn an_annotation_that_is_too_long_refuses_where_it_would_decide() {
    let oversized = |name| ObjectLabels { oversized: vec![name], ..ObjectLabels::default() };
    let named = || labelled(&[], &[(POOLS_ANNOTATION, "web")]);
    for (row, words) in [
        (Row { pod: oversized(POOLS_ANNOTATION), ..Row::empty() }, "bytes on pod shop/front"),
        (Row { namespace: oversized(POOLS_ANNOTATION), ..Row::empty() }, "bytes on the namespace of pod"),
        (Row { pod: oversized(MATCH_ANNOTATION), ..Row::empty() }, "requires one"),
    ] {
        let refused = row.chosen(&rules()).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let row = Row { pod: named(), namespace: oversized(POOLS_ANNOTATION), ..Row::empty() };
    assert_eq!(row.chosen(&rules()), Ok(owned(&["web"])), "the pod's own decides");
    let row = Row { requested: &["red"], pod: oversized(POOLS_ANNOTATION), ..Row::empty() };
    assert_eq!(row.chosen(&rules()), Ok(owned(&["red"])));
}
