//! The list `targets`: which entry is in force where and when, and which lists are refused.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers are part of the tests")]

use tenure_aws_eni::present::{Present, WeekTime};
use tenure_aws_eni::settings::{AwsSettings, WarmTarget};
use tenure_sdk::Config;

fn read(ipam: &str) -> Result<AwsSettings, String> {
    match AwsSettings::read(&Config::new("net", ipam, &[])) {
        Ok((settings, _)) => Ok(settings),
        Err(error) => Err(error.to_string()),
    }
}

/// Settings whose own target is one free address, and each entry's so many as its number says.
fn entries(conditions: &[&str]) -> AwsSettings {
    let entry = |(number, conditions): (usize, &&str)| {
        let comma = if conditions.is_empty() { "" } else { "," };
        format!(r#"{{ {conditions}{comma} "warm": {{ "addresses": {number}0 }} }}"#)
    };
    let entries: Vec<String> = (1..).zip(conditions).map(entry).collect();
    read(&format!(r#"{{ "warm": {{ "addresses": 1 }}, "targets": [{}] }}"#, entries.join(","))).unwrap()
}

/// A node of a type, with a label `pool`, at a time.
fn node<'a>(of: &'a str, pool: &'a str, time: &str) -> Present<'a> {
    let instance_type = Some(of).filter(|of| !of.is_empty());
    let time = WeekTime::of(time);
    Present { instance_type, labels: [("pool", pool)].into(), time }
}

/// The number of the entry in force, or 0, by what should be free.
fn number(settings: &AwsSettings, present: &Present<'_>) -> u32 {
    match settings.in_force(present).warm.target(false) {
        WarmTarget::Addresses { warm: 1, minimum: 0 } => 0,
        WarmTarget::Addresses { warm, minimum: 0 } => warm / 10,
        other => panic!("{other:?}"),
    }
}

/// A Monday.
const NOON: &str = "2026-01-05T12:00:00Z";

#[test]
fn the_first_entry_whose_conditions_all_hold_is_in_force() {
    let settings = entries(&[
        r#""instanceTypes": ["m5.*", "c5.large"], "labels": { "pool": "batch" }, "time": "08:00-18:00""#,
        r#""instanceTypes": ["m5.*", "c5.large"], "labels": { "pool": "batch" }"#,
        r#""labels": { "pool": "batch", "zone": "a" }"#,
        r#""instanceTypes": ["m5.*"]"#,
        r#""labels": { "pool": "" }"#,
    ]);
    for (of, pool, time, expected) in [
        ("m5.large", "batch", NOON, 1),
        ("c5.large", "batch", NOON, 1),
        ("c5.large", "batch", "2026-01-05T18:00:00Z", 2),
        ("c5.xlarge", "batch", NOON, 0),
        ("m5.metal", "web", NOON, 4),
        ("m5a.large", "web", NOON, 0),
        ("m5", "web", NOON, 0),
        ("t3.small", "", NOON, 5),
        // What the host does not say is not known, and then nothing is true of it.
        ("", "batch", NOON, 0),
        ("m5.large", "batch", "", 2),
    ] {
        assert_eq!(number(&settings, &node(of, pool, time)), expected, "{of}, {pool}, {time}");
    }
    assert_eq!(number(&settings, &Present::default()), 0);
    assert_eq!(number(&entries(&["",]), &Present::default()), 1, "without conditions it always is");
}

#[test]
fn a_window_has_its_first_minute_and_not_its_last() {
    let day = entries(&[r#""time": "08:00-18:00""#]);
    let night = entries(&[r#""time": "22:00-06:00""#]);
    let evening = entries(&[r#""time": "18:00-24:00""#]);
    let rest = entries(&[r#""time": "18:00-00:00""#]);
    let minute = entries(&[r#""time": "23:59-00:00""#]);
    for (time, expected) in [
        ("00:00:00", [0, 1, 0, 0, 0]),
        ("05:59:59", [0, 1, 0, 0, 0]),
        ("06:00:00", [0, 0, 0, 0, 0]),
        ("07:59:59", [0, 0, 0, 0, 0]),
        ("08:00:00", [1, 0, 0, 0, 0]),
        ("17:59:59", [1, 0, 0, 0, 0]),
        ("18:00:00", [0, 0, 1, 1, 0]),
        ("22:00:00", [0, 1, 1, 1, 0]),
        ("23:59:59", [0, 1, 1, 1, 1]),
    ] {
        let now = node("", "", &format!("2026-01-05T{time}Z"));
        let found = [&day, &night, &evening, &rest, &minute].map(|settings| number(settings, &now));
        assert_eq!(found, expected, "{time}");
    }
}

#[test]
fn a_window_belongs_to_the_day_on_which_it_begins() {
    let work = entries(&[r#""days": ["mon-fri"], "time": "08:00-18:00""#]);
    let nights = entries(&[r#""days": ["fri", "sun"], "time": "22:00-06:00""#]);
    let over = entries(&[r#""days": ["sat-mon", "wed"]"#]);
    // From the 5th, a Monday, on.
    for (time, expected) in [
        ("05T05:59:00", [0, 1, 1]),
        ("05T06:00:00", [0, 0, 1]),
        ("05T08:00:00", [1, 0, 1]),
        ("05T22:00:00", [0, 0, 1]),
        ("06T00:00:00", [0, 0, 0]),
        ("07T23:59:00", [0, 0, 1]),
        ("08T00:00:00", [0, 0, 0]),
        ("09T05:00:00", [0, 0, 0]),
        ("09T17:59:00", [1, 0, 0]),
        ("09T22:00:00", [0, 1, 0]),
        ("10T05:59:00", [0, 1, 1]),
        ("10T12:00:00", [0, 0, 1]),
        ("10T22:00:00", [0, 0, 1]),
        ("11T22:00:00", [0, 1, 1]),
        ("12T05:59:00", [0, 1, 1]),
        ("12T06:00:00", [0, 0, 1]),
    ] {
        let now = node("", "", &format!("2026-01-{time}Z"));
        assert_eq!([&work, &nights, &over].map(|settings| number(settings, &now)), expected, "{time}");
    }
}

#[test]
fn the_entry_in_force_is_named_with_its_conditions() {
    let settings = entries(&[
        r#""instanceTypes": ["m5.*"], "time": "08:00-18:00""#,
        r#""instanceTypes": ["m5.*", "c5.large"], "labels": { "zone": "a", "pool": "web" }, "days": ["sat", "sun"]"#,
        r#""labels": { "pool": "batch" }, "days": ["mon-fri"], "time": "22:00-06:00""#,
        r#""labels": { "pool": "batch" }"#,
    ]);
    let words = |settings: &AwsSettings, present: &Present<'_>| settings.in_force(present).words;
    assert_eq!(
        words(&settings, &node("m5.large", "web", NOON)).unwrap(),
        "targets: entry 1 (instance type m5.*, 08:00-18:00 UTC)"
    );
    let mut weekend = node("c5.large", "web", "2026-01-10T12:00:00Z");
    weekend.labels.insert("zone", "a");
    assert_eq!(
        words(&settings, &weekend).unwrap(),
        "targets: entry 2 (instance type m5.* or c5.large, label pool=web, label zone=a, sat sun UTC)"
    );
    assert_eq!(
        words(&settings, &node("t3.small", "batch", "2026-01-05T22:00:00Z")).unwrap(),
        "targets: entry 3 (label pool=batch, mon-fri 22:00-06:00 UTC)"
    );
    assert_eq!(words(&settings, &node("t3.small", "web", NOON)).unwrap(), "targets: no entry");
    assert_eq!(words(&entries(&[""]), &Present::default()).unwrap(), "targets: entry 1 (always)");
    assert_eq!(words(&entries(&[]), &Present::default()), None);
}

#[test]
fn the_targets_of_an_entry_take_the_place_of_all_of_the_networks() {
    let ipam = |warm: &str| {
        let usual = r#""env": { "WARM_IP_TARGET": "5", "MINIMUM_IP_TARGET": "20" }"#;
        format!(r#"{{ {usual}, "prefixes": true, "targets": [{{ "warm": {warm} }}] }}"#)
    };
    for (warm, singly, in_prefixes) in [
        (r#"{ "addresses": 2 }"#, WarmTarget::Addresses { warm: 2, minimum: 0 }, None),
        (r#"{ "Minimum": 9, "interfaces": 2 }"#, WarmTarget::Addresses { warm: 0, minimum: 9 }, None),
        (r#"{ "prefixes": 3 }"#, WarmTarget::Interfaces(1), Some(WarmTarget::Prefixes(3))),
        (r#"{ "prefixes": 3, "interfaces": 0 }"#, WarmTarget::Interfaces(0), Some(WarmTarget::Prefixes(3))),
    ] {
        let settings = read(&ipam(warm)).unwrap();
        let in_force = settings.in_force(&Present::default()).warm;
        assert_eq!((in_force.target(false), in_force.target(true)), (singly, in_prefixes.unwrap_or(singly)));
        assert_eq!(
            settings.target(true),
            WarmTarget::Addresses { warm: 5, minimum: 20 },
            "beside the entries"
        );
    }
}

#[test]
fn what_is_wrong_with_an_entry_is_refused_with_its_path() {
    for (entry, message) in [
        (
            r#""hours": "8-18""#,
            "[0].hours: is not a condition; there are instanceTypes, labels, days, time, and warm for the targets",
        ),
        (r#""instanceTypes": "m5.*""#, "[0].instanceTypes: must be a list"),
        (r#""instanceTypes": []"#, "[0].instanceTypes: must name at least one instance type"),
        (
            r#""instanceTypes": ["m5.large", "m5*.metal"]"#,
            "[0].instanceTypes[1]: \"m5*.metal\" is not an instance type such as \"m5.large\" or \"m5.*\"",
        ),
        (r#""instanceTypes": ["*.*"]"#, "[0].instanceTypes[0]: \"*.*\" is not an instance type"),
        (r#""instanceTypes": [""]"#, "[0].instanceTypes[0]: \"\" is not an instance type"),
        (r#""labels": {}"#, "[0].labels: must name at least one label"),
        (r#""labels": { "pool": 3 }"#, "[0].labels.pool: must be a string"),
        (r#""time": 8"#, "[0].time: must be a string"),
        (r#""time": "08:00-08:00""#, "[0].time: \"08:00-08:00\" is empty: it ends when it begins"),
        (r#""time": "8:00-18:00""#, "[0].time: \"8:00-18:00\" is not a time of day such as \"08:00-18:00\""),
        (r#""time": "08:00""#, "[0].time: \"08:00\" is not a time of day"),
        (r#""time": "08:00-18:60""#, "[0].time: \"08:00-18:60\" is not a time of day"),
        (r#""time": "08:00-24:01""#, "[0].time: \"08:00-24:01\" is not a time of day"),
        (r#""time": "24:00-08:00""#, "[0].time: \"24:00-08:00\" is not a time of day"),
        (r#""time": "+8:00-18:00""#, "[0].time: \"+8:00-18:00\" is not a time of day"),
        (r#""days": []"#, "[0].days: must name at least one day"),
        (
            r#""days": ["mon", "weekend"]"#,
            "[0].days[1]: \"weekend\" is not a day such as \"mon\", or several such as \"mon-fri\"",
        ),
        (r#""days": ["mon-"]"#, "[0].days[0]: \"mon-\" is not a day"),
    ] {
        let ipam = format!(r#"{{ "targets": [{{ {entry}, "warm": {{ "addresses": 2 }} }}] }}"#);
        let refusal = read(&ipam).unwrap_err();
        assert!(refusal.starts_with(&format!("ipam.targets{message}")), "{refusal}");
    }
    for (ipam, message) in [
        (r#"{ "targets": {} }"#, "ipam.targets: must be a list"),
        (r#"{ "targets": [3] }"#, "ipam.targets[0]: must be an object"),
        (r#"{ "targets": [{}] }"#, "ipam.targets[0]: has no warm, which says what should be free"),
        (
            r#"{ "targets": [{ "warm": {} }] }"#,
            "ipam.targets[0].warm: must have one of: interfaces, addresses, minimum, prefixes",
        ),
        (
            r#"{ "targets": [{ "warm": { "ips": 3 } }] }"#,
            "ipam.targets[0].warm.ips: is not a setting of this policy",
        ),
        (
            r#"{ "targets": [{ "warm": { "addresses": -1 } }] }"#,
            "ipam.targets[0].warm.addresses: must be a non-negative integer",
        ),
        (
            r#"{ "targets": [{ "warm": { "prefixes": 1 } }] }"#,
            "ipam.targets[0].warm: has only prefixes, which count with ipam.prefixes",
        ),
        (
            r#"{ "prefixes": true, "warm": { "prefixes": 1 }, "targets": [{ "warm": { "interfaces": 2 } }] }"#,
            "ipam.targets[0].warm: with ipam.prefixes, needs one of prefixes, addresses and minimum above 0",
        ),
    ] {
        assert_eq!(read(ipam).unwrap_err(), message, "{ipam}");
    }
}

#[test]
fn an_entry_that_is_never_in_force_is_refused() {
    let list = |conditions: [&str; 3]| {
        let entries = conditions.map(|conditions| {
            let comma = if conditions.is_empty() { "" } else { "," };
            format!(r#"{{ {conditions}{comma} "warm": {{ "addresses": 2 }} }}"#)
        });
        read(&format!(r#"{{ "targets": [{}] }}"#, entries.join(",")))
    };
    let first = r#""labels": { "pool": "batch" }"#;
    for [second, third] in [
        ["", r#""time": "08:00-18:00""#],
        ["", ""],
        [r#""time": "08:00-18:00""#, r#""time": "08:00-18:00""#],
        [r#""instanceTypes": ["m5.*"]"#, r#""instanceTypes": ["m5.large", "m5.m*"], "days": ["sat"]"#],
        [r#""labels": { "zone": "a" }"#, r#""labels": { "zone": "a", "tier": "b" }"#],
    ] {
        assert_eq!(
            list([first, second, third]).unwrap_err(),
            "ipam.targets[2]: entry 3 is never in force, because entry 2 is whenever it could be",
            "{second} and {third}"
        );
    }
    for [second, third] in [
        [r#""time": "08:00-18:00""#, ""],
        [r#""time": "08:00-18:00""#, r#""time": "08:00-18:01""#],
        [r#""instanceTypes": ["m5.large"]"#, r#""instanceTypes": ["m5.large*"]"#],
        [r#""instanceTypes": ["m5.l*"]"#, r#""instanceTypes": ["m5.*"]"#],
        [r#""instanceTypes": ["*"]"#, ""],
        [r#""labels": { "zone": "a" }"#, r#""labels": { "zone": "b" }"#],
        [r#""labels": { "zone": "a", "tier": "b" }"#, r#""labels": { "zone": "a" }"#],
    ] {
        list([first, second, third]).unwrap();
    }
}
