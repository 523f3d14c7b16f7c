//! The book's page has a row for each setting, and one for each example in which this policy differs from ipamd.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

use tenure_aws_eni::settings::{KNOBS, Role};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/book/src/aws-eni.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_page_has_a_row_for_each_setting_with_its_default_and_what_becomes_of_it() {
    let page = page();
    for knob in KNOBS {
        let code = |name: Option<&str>| name.map(|name| format!("`{name}`")).unwrap_or_default();
        let default = knob.kind.default();
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        let begins = match knob.role {
            Role::Policy => format!("| {} | {} | {default} | policy | ", code(knob.key), code(knob.env)),
            Role::Host => format!("| {} | {} | {default} | host | ", code(knob.key), code(knob.env)),
            Role::Both => format!("| {} | {} | {default} | both | ", code(knob.key), code(knob.env)),
            Role::Refused(why) => format!("| {} | refused: {why} |", code(knob.env)),
            Role::Idle(why) => format!("| {} | no effect: {why} |", code(knob.env)),
        };
        assert!(page.lines().any(|line| line.starts_with(&begins)), "no row begins with: {begins}");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    let named = page.lines().filter(|line| line.starts_with("| |")).count();
    assert!(rows + named >= KNOBS.len(), "{rows} rows");
    // No row for a setting that does not exist.
    for line in page.lines().filter(|line| line.ends_with(" |") && line.contains("| policy |")) {
        let key = line.split('`').nth(1).unwrap_or_default();
        assert!(KNOBS.iter().any(|knob| knob.key == Some(key)), "{line}");
    }
}
