//! A table in nft's language, as one transaction.

use std::fmt::Write as _;

use super::table::{NAME, NftTable, mark_of};

/// The transaction that removes the table with its contents and creates it again; nothing sees a state between.
pub(super) fn replace(table: &NftTable) -> String {
    let mut text = remove();
    let _ = writeln!(text, "table ip {NAME} {{");
    for (name, ranges) in &table.sets {
        let _ = writeln!(text, "  set {name} {{ type ipv4_addr; flags interval;");
        if !ranges.is_empty() {
            let elements: Vec<String> = ranges
                .iter()
                .map(
                    |(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") },
                )
                .collect();
            let _ = writeln!(text, "    elements = {{ {} }}", elements.join(", "));
        }
        let _ = writeln!(text, "  }}");
    }
    for chain in &table.chains {
        let (name, kind, hook, priority) = (chain.name, chain.kind, chain.hook, chain.priority);
        let _ = writeln!(
            text,
            "  chain {name} {{\n    type {kind} hook {hook} priority {priority}; policy accept;"
        );
        for rule in &chain.rules {
            let _ = writeln!(text, "    {rule} comment \"{}\"", mark_of(rule));
        }
        let _ = writeln!(text, "  }}");
    }
    text.push_str("}\n");
    text
}

/// The transaction that removes the table; making it first lets that succeed also without one.
pub(super) fn remove() -> String {
    format!("table ip {NAME} {{ }}\ndelete table ip {NAME}\n")
}
