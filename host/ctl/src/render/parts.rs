//! Building blocks of the text output: IDs, names, times and sizes.
//!
//! Names and IDs come from outside, so characters that could deceive a reader are escaped before they reach a terminal. Long IDs are truncated to a
//! prefix that still tells them apart; JSON has them in full.

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;
use tenure_rpc::v1;
use tenure_types::printable;

use super::words::OwnerKind;

/// The length to which container IDs and digests are truncated.
const SHORT: usize = 12;

/// Text from outside on one line, with what could deceive a reader escaped.
pub(crate) fn clean(text: &str) -> String {
    printable::line(text).into_owned()
}

/// An ID, truncated and escaped.
pub(crate) fn short(id: &str) -> String {
    clean(&id.chars().take(SHORT).collect::<String>())
}

/// A list in one cell, or a dash.
pub(crate) fn joined(items: &[String], separator: &str) -> String {
    if items.is_empty() {
        return "-".to_owned();
    }
    items.iter().map(|item| clean(item)).collect::<Vec<_>>().join(separator)
}

/// Text in a cell, or a dash.
pub(crate) fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { clean(text) }
}

/// An allocation's owner: the truncated container ID, an agent's claim, or `unknown`.
pub(crate) fn owner(allocation: &v1::Allocation) -> String {
    match (&allocation.owner, OwnerKind::of(&allocation.kind)) {
        (Some(v1::allocation::Owner::Claim(claim)), _) => {
            format!("claim {}/{}", clean(&claim.agent), clean(&claim.name))
        }
        (_, Some(OwnerKind::Unknown)) => "unknown".to_owned(),
        _ => short(&allocation.container_id),
    }
}

/// `name=value` pairs, sorted and separated by commas; empty if there are none.
pub(crate) fn pairs(map: &HashMap<String, String>) -> String {
    let mut pairs: Vec<_> =
        map.iter().map(|(name, value)| format!("{}={}", clean(name), clean(value))).collect();
    pairs.sort_unstable();
    pairs.join(",")
}

/// `namespace/name`, or a dash if the runtime named no pod.
pub(crate) fn pod(allocation: &v1::Allocation) -> String {
    pod_name(&allocation.pod_namespace, &allocation.pod_name)
}

/// `namespace/name`, the name alone, or a dash.
pub(crate) fn pod_name(namespace: &str, name: &str) -> String {
    match (namespace, name) {
        ("", "") => "-".to_owned(),
        ("", name) => clean(name),
        (namespace, name) => format!("{}/{}", clean(namespace), clean(name)),
    }
}

/// `name@digest`, with the digest truncated.
pub(crate) fn policy(policy: Option<&v1::PolicyRef>) -> String {
    match policy {
        None => "-".to_owned(),
        Some(policy) if policy.sha256.is_empty() => clean(&policy.name),
        Some(policy) => format!("{}@{}", clean(&policy.name), short(&policy.sha256)),
    }
}

/// A duration in at most two units: `3d 4h`, `5m 7s`, `0s`.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let first = units.iter().position(|(unit, _)| seconds >= *unit).unwrap_or(units.len() - 1);
    let mut left = seconds;
    let mut text = String::new();
    for (index, (unit, name)) in units.iter().enumerate().skip(first).take(2) {
        let count = left / unit;
        left %= unit;
        if index == first || count > 0 {
            let space = if text.is_empty() { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{space}{count}{name}");
        }
    }
    text
}

/// An age as [`duration`]; `<1s` of what is younger than a second.
pub(crate) fn age(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => "<1s".to_owned(),
        _ => duration(milliseconds),
    }
}

/// A time in UTC to the second, as in the log; a dash if it is not known.
pub(crate) fn when(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms / 1000).ok().filter(|seconds| *seconds > 0);
    let time = time.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}

/// How long ago a time was; `just now` if it was less than a second ago, or is in the future because the clock was set back.
pub(crate) fn ago(then_ms: u64, now_ms: u64) -> String {
    match now_ms.saturating_sub(then_ms) {
        0..1_000 => "just now".to_owned(),
        age => format!("{} ago", duration(age)),
    }
}

/// A size in B, KiB, MiB or GiB.
pub(crate) fn bytes(count: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| count >> shift > 0) {
        None => format!("{count} B"),
        Some((shift, unit)) => {
            let tenths = (u128::from(count) * 10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

/// A number with its noun, singular or plural.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let texts = [0, 999, 1_000, 61_000, 3_600_000, 3_661_000, 90_000_000, 864_000_000].map(duration);
        assert_eq!(texts, ["0s", "0s", "1s", "1m 1s", "1h", "1h 1m", "1d 1h", "10d"]);
        assert_eq!([0, 999, 1_000, 61_000].map(age), ["<1s", "<1s", "1s", "1m 1s"]);
        assert_eq!((ago(2_000, 1_000), ago(1_000, 3_000)), ("just now".into(), "2s ago".into()));
        assert_eq!((when(1_700_000_000_999), when(0)), ("2023-11-14T22:13:20Z".into(), "-".into()));
    }

    #[test]
    fn bytes_are_in_their_unit() {
        let texts = [0, 1023, 1024, 1536, 4 << 20, u64::MAX].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "4.0 MiB", "17179869183.9 GiB"]);
    }

    #[test]
    fn nothing_from_outside_steers_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{9b}dé"), "a\\u{1b}[31mb\\nc\\u{9b}dé");
        assert_eq!(short("0123456789abcdef"), "0123456789ab");
    }
}
