//! Decisions in words, for people.

use std::fmt;

use serde_json::Value;

use super::decision::DecisionOutcome;
use crate::text::clean;

/// The ranges of a definition that are shown.
const SHOWN: usize = 4;

impl DecisionOutcome {
    /// The addresses of a proposal, as text; `None` for other outcomes.
    pub(crate) fn addresses(&self) -> Option<String> {
        let (Self::Proposal(proposal) | Self::ProposalWithState { proposal, .. }) = self else { return None };
        let addresses: Vec<_> = texts(proposal.get("assignments"), "address").collect();
        Some(or_else(&clean(&addresses.join(", ")), "no address"))
    }
}

impl fmt::Display for DecisionOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proposal(_) => formatter.write_str(&self.addresses().unwrap_or_default()),
            Self::ProposalWithState { state, .. } => {
                formatter.write_str(&self.addresses().unwrap_or_default())?;
                match state {
                    Some(state) => write!(formatter, "; new state {}", clean(state)),
                    None => Ok(()),
                }
            }
            Self::Definition(definition) => {
                let pools = definition.get("pools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let ranges: Vec<_> = pools.iter().flat_map(|pool| ranges(pool.get("ranges"))).collect();
                let shown: Vec<_> = ranges.iter().take(SHOWN).map(String::as_str).collect();
                let more = ranges.len().saturating_sub(SHOWN);
                let plural = if pools.len() == 1 { "" } else { "s" };
                write!(formatter, "{} pool{plural}: {}", pools.len(), clean(&shown.join(", ")))?;
                if more > 0 { write!(formatter, " and {more} more ranges") } else { Ok(()) }
            }
            Self::Refusal(refusal) => {
                let (kind, reason) = refusal
                    .as_object()
                    .and_then(|kinds| kinds.iter().next())
                    .map_or(("other", None), |(kind, reason)| (kind_of(kind), Some(reason)));
                let text = |key| reason.and_then(|reason| reason.get(key)).and_then(Value::as_str);
                let path = text("path").filter(|path| !path.is_empty()).map(|path| format!("{path}: "));
                let (path, message) = (path.unwrap_or_default(), text("message").unwrap_or_default());
                write!(formatter, "{kind}: {}", clean(&format!("{path}{message}")))
            }
            Self::Failure { kind, cause } => write!(formatter, "failed ({kind}): {}", clean(cause)),
            Self::NotRecorded(question) => {
                write!(formatter, "asked something that the record does not contain: {}", clean(question))
            }
        }
    }
}

/// A refusal's name in the interface.
fn kind_of(case: &str) -> &str {
    match case {
        "InvalidConfig" => "invalid-config",
        "Exhausted" => "exhausted",
        "Unavailable" => "unavailable",
        "NotYet" => "not-yet",
        "Denied" => "denied",
        "OverQuota" => "over-quota",
        _ => "other",
    }
}

/// A field's text in each record of a list.
fn texts<'a>(list: Option<&'a Value>, field: &'static str) -> impl Iterator<Item = &'a str> {
    let records = list.and_then(Value::as_array).into_iter().flatten();
    records.filter_map(move |record| record.get(field)?.as_str())
}

fn ranges(list: Option<&Value>) -> Vec<String> {
    texts(list, "first").zip(texts(list, "last")).map(|(first, last)| format!("{first}-{last}")).collect()
}

fn or_else(text: &str, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text.to_owned() }
}

/// A question as a call: `free(pool 0, after 10.1.0.7, direction ascending, limit 1)`.
pub(crate) fn question(function: &str, with: &Value) -> String {
    let mut fields: Vec<_> =
        with.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).collect();
    fields.sort_by_key(|(name, _)| name.as_str() != "pool");
    let words = |name: &str, value| match name {
        "direction" => format!("{name} {}", plain(value).to_lowercase()),
        _ => format!("{name} {}", plain(value)),
    };
    let fields: Vec<_> = fields.into_iter().map(|(name, value)| words(name, value)).collect();
    format!("{function}({})", fields.join(", "))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(label) => texts_of(label).join("="),
        Value::Array(labels) => labels.iter().map(plain).collect::<Vec<_>>().join(" and "),
        other => other.to_string(),
    }
}

fn texts_of(record: &serde_json::Map<String, Value>) -> Vec<&str> {
    record.values().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_and_questions_read_as_sentences() {
        let proposal = json!({ "assignments": [{ "address": "10.1.0.7" }, { "address": "fd00::7" }] });
        assert_eq!(DecisionOutcome::Proposal(proposal).to_string(), "10.1.0.7, fd00::7");
        assert_eq!(DecisionOutcome::Proposal(json!({ "assignments": [] })).to_string(), "no address");
        let proposal = json!({ "assignments": [{ "address": "10.1.0.7" }] });
        let kept = DecisionOutcome::ProposalWithState { proposal, state: Some("YQ==".into()) };
        assert_eq!(kept.to_string(), "10.1.0.7; new state YQ==");
        let range = |first, last| json!({ "first": first, "last": last });
        let pool = json!({ "ranges": [range("10.1.0.1", "10.1.0.6"), range("10.2.0.1", "10.2.0.6")] });
        let definition = json!({ "pools": [pool, pool, pool] });
        let told = "3 pools: 10.1.0.1-10.1.0.6, 10.2.0.1-10.2.0.6, 10.1.0.1-10.1.0.6, 10.2.0.1-10.2.0.6 and 2 more ranges";
        assert_eq!(DecisionOutcome::Definition(definition).to_string(), told);
        let refusal = json!({ "Exhausted": { "message": "none\u{1b}left", "attributes": [] } });
        assert_eq!(DecisionOutcome::Refusal(refusal).to_string(), "exhausted: none\\u{1b}left");
        let refusal = json!({ "InvalidConfig": { "path": "ipam.x", "message": "wrong" } });
        assert_eq!(DecisionOutcome::Refusal(refusal).to_string(), "invalid-config: ipam.x: wrong");
        let with = json!({ "direction": "Descending", "limit": 1, "label": { "name": "zone", "value": "a" }, "after": null, "pool": 0 });
        let asked = DecisionOutcome::NotRecorded(question("free", &with)).to_string();
        assert_eq!(
            asked,
            "asked something that the record does not contain: free(pool 0, direction descending, label zone=a, limit 1)"
        );
        let with = json!({ "pool": 0, "label": [{ "name": "zone", "value": "a" }, { "name": "tier", "value": "web" }] });
        assert_eq!(question("last", &with), "last(pool 0, label zone=a and tier=web)");
    }
}
