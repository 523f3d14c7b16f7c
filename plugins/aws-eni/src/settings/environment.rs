//! The table `env`: ipamd's settings by its own names, read as ipamd reads them.
//!
//! What ipamd takes silently for a default or skips is a warning here, and a name that neither it nor the policy knows
//! is an error.

use tenure_sdk::{ConfigError, Json, Node};

use super::knob::{Knob, KnobKind, Role};
use super::knobs::KNOBS;
use super::value::{Value, ipv4, mark, name_prefix, tags};

/// A setting of the environment; no value if its default applies.
pub(super) type TargetEntry = (&'static Knob, Node, Option<Value>);

/// Reads the table, and adds warnings.
///
/// # Errors
/// For an unknown name, and for what is refused by name.
pub(super) fn read(table: &Node, warnings: &mut Vec<String>) -> Result<Vec<TargetEntry>, ConfigError> {
    let mut entries: Vec<TargetEntry> = Vec::new();
    for (name, node) in table.entries()? {
        let Some(knob) = KNOBS.iter().find(|knob| knob.env == Some(name.as_str())) else {
            return Err(node.wrong("is not a setting of ipamd that this policy knows"));
        };
        if entries.iter().any(|(other, ..)| other.env == knob.env) {
            return Err(node.wrong("occurs twice"));
        }
        let text = text(&node)?;
        let read = value(knob.kind, &text, &node)?;
        if let Some(warning) = read.warning {
            warnings.push(format!("{}: {warning}", node.path()));
        }
        match knob.role {
            Role::Refused(why) if read.value.is_some() && read.value != Value::default(knob.kind) => {
                return Err(node.wrong(format!("{text:?} is out of scope: {why}")));
            }
            Role::Idle(why) => warnings.push(format!("{}: has no effect: {why}", node.path())),
            _ => {}
        }
        entries.push((knob, node, read.value));
    }
    Ok(entries)
}

/// An environment's value is text; numbers and booleans are taken as what they would be there.
fn text(node: &Node) -> Result<String, ConfigError> {
    match node.value() {
        Json::Text(text) => Ok(text.clone()),
        Json::Bool(flag) => Ok(flag.to_string()),
        Json::Number(number) => Ok(number.to_string()),
        _ => Err(node.wrong("must be a string, as in the environment")),
    }
}

/// A value, or none where ipamd would use its default; and what ipamd would not have said.
struct EnvironmentValue {
    value: Option<Value>,
    warning: Option<String>,
}

impl EnvironmentValue {
    fn good(value: Value) -> Self {
        Self { value: Some(value), warning: None }
    }

    fn default(kind: KnobKind, text: &str, what: &str) -> Self {
        let default = kind.default();
        let default = if default.is_empty() { "none".to_owned() } else { default };
        Self { value: None, warning: Some(format!("{text:?} is not {what}; using the default: {default}")) }
    }
}

fn value(kind: KnobKind, text: &str, node: &Node) -> Result<EnvironmentValue, ConfigError> {
    Ok(match kind {
        // Go's environment look-ups take an empty value for an absent one.
        _ if text.is_empty() => EnvironmentValue { value: None, warning: None },
        KnobKind::Count(_) => match integer(text) {
            Some(count) => EnvironmentValue::good(Value::Count(count)),
            None => EnvironmentValue::default(kind, text, "a non-negative integer"),
        },
        KnobKind::Bounded(least, most, _) => match integer(text) {
            Some(count) if (least..=most).contains(&count) => EnvironmentValue::good(Value::Count(count)),
            Some(count) => {
                let nearest = count.clamp(least, most);
                let warning = format!("{count} is not from {least} to {most}; using {nearest}");
                EnvironmentValue { value: Some(Value::Count(nearest)), warning: Some(warning) }
            }
            None => EnvironmentValue::default(kind, text, "a non-negative integer"),
        },
        KnobKind::Flag(_) => match boolean(text) {
            Some(flag) => EnvironmentValue::good(Value::Flag(flag)),
            None => EnvironmentValue::default(kind, text, "true or false"),
        },
        KnobKind::Text(_) => EnvironmentValue::good(Value::Text(text.into()).bounded(node)?),
        KnobKind::Choice(names) => match names.contains(&text) {
            true => EnvironmentValue::good(Value::Text(text.into())),
            false => EnvironmentValue::default(kind, text, &format!("one of {}", names.join(", "))),
        },
        KnobKind::Mark(_) => match mark(text) {
            Some(mark) => EnvironmentValue::good(Value::Text(mark)),
            None => EnvironmentValue::default(kind, text, "a mark such as 0x80"),
        },
        KnobKind::NamePrefix(_) => {
            name_prefix(text).map_err(|message| node.wrong(message))?;
            EnvironmentValue::good(Value::Text(text.into()))
        }
        KnobKind::Subnets => subnets(text, node)?,
        KnobKind::Tags => match Node::parse(node.path(), text).and_then(|parsed| tags(&parsed)) {
            Ok((tags, reserved)) => {
                let warning = format!("{} are set by the host itself", reserved.join(", "));
                let warning = (!reserved.is_empty()).then_some(warning);
                EnvironmentValue { value: Some(Value::Text(tags).bounded(node)?), warning }
            }
            Err(_) => EnvironmentValue::default(kind, text, "a JSON object of strings"),
        },
    })
}

/// Skips invalid subnets.
fn subnets(text: &str, node: &Node) -> Result<EnvironmentValue, ConfigError> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match ipv4(part) {
            Some(subnet) => good.push(subnet),
            None => bad.push(part),
        }
    }
    let warning =
        (!bad.is_empty()).then(|| format!("skipping what is not an IPv4 subnet: {}", bad.join(", ")));
    Ok(EnvironmentValue { value: Some(Value::Text(good.join(",")).bounded(node)?), warning })
}

/// As Go's `strconv.Atoi`, for numbers that are not negative.
fn integer(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = if is_number { digits.parse().ok()? } else { return None };
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

/// As Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
