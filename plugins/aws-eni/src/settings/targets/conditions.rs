//! The conditions of an entry: instance types, labels of the node, and a window of the week. All must hold.

use tenure_sdk::{ConfigError, Node};

use super::window::Window;
use crate::present::Present;

/// The keys of conditions.
pub(super) const CONDITIONS: [&str; 4] = ["instanceTypes", "labels", "days", "time"];

/// The conditions of an entry. What is not restricted always holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetConditions {
    /// Names, or beginnings of names with a `*` behind them; none: any type.
    types: Vec<String>,
    /// Names and values, sorted.
    labels: Vec<(String, String)>,
    window: Option<Window>,
}

impl TargetConditions {
    /// Reads the conditions of an entry.
    ///
    /// # Errors
    /// For what is not a condition, and for one that says nothing.
    pub(super) fn read(entry: &Node) -> Result<Self, ConfigError> {
        let types = entry.get("instanceTypes")?.map(|types| types_of(&types)).transpose()?;
        let labels = entry.get("labels")?.map(|labels| labels_of(&labels)).transpose()?;
        Ok(Self {
            types: types.unwrap_or_default(),
            labels: labels.unwrap_or_default(),
            window: Window::read(entry.get("days")?.as_ref(), entry.get("time")?.as_ref())?,
        })
    }

    /// Whether all hold. What is not known of the node does not.
    pub(super) fn hold(&self, present: &Present<'_>) -> bool {
        let is_type = |name| self.types.iter().any(|pattern| matches(pattern, name));
        let has =
            |(name, value): &(String, String)| present.labels.get(name.as_str()) == Some(&value.as_str());
        (self.types.is_empty() || present.instance_type.is_some_and(is_type))
            && self.labels.iter().all(has)
            && self.window.as_ref().is_none_or(|window| present.time.is_some_and(|time| window.has(time)))
    }

    /// Whether these hold whenever the others do; `false` if that is not plain to see.
    pub(super) fn cover(&self, others: &Self) -> bool {
        let covers = |name: &String| self.types.iter().any(|pattern| matches(pattern, name));
        (self.types.is_empty() || !others.types.is_empty() && others.types.iter().all(covers))
            && self.labels.iter().all(|label| others.labels.contains(label))
            && (self.window.is_none() || self.window == others.window)
    }

    /// Renders the conditions for people, such as `instance type m5.*, 08:00-18:00 UTC`.
    pub(super) fn words(&self) -> String {
        let types = (!self.types.is_empty()).then(|| format!("instance type {}", self.types.join(" or ")));
        let labels = self.labels.iter().map(|(name, value)| format!("label {name}={value}"));
        let window = self.window.as_ref().map(Window::words);
        let all: Vec<String> = types.into_iter().chain(labels).chain(window).collect();
        if all.is_empty() { "always".to_owned() } else { all.join(", ") }
    }
}

/// Whether a name is what a pattern says. A pattern is matched, too, by the patterns that allow no more than it.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

fn types_of(list: &Node) -> Result<Vec<String>, ConfigError> {
    let mut types = Vec::new();
    for item in list.items()? {
        let text = item.text()?;
        let beginning = text.strip_suffix('*').unwrap_or(text);
        if text.is_empty() || beginning.contains('*') {
            let message = format!("{text:?} is not an instance type such as \"m5.large\" or \"m5.*\"");
            return Err(item.wrong(message));
        }
        types.push(text.to_owned());
    }
    match types.is_empty() {
        true => Err(list.wrong("must name at least one instance type")),
        false => Ok(types),
    }
}

fn labels_of(table: &Node) -> Result<Vec<(String, String)>, ConfigError> {
    let mut labels = Vec::new();
    for (name, value) in table.entries()? {
        labels.push((name, value.text()?.to_owned()));
    }
    labels.sort_unstable();
    match labels.is_empty() {
        true => Err(table.wrong("must name at least one label")),
        false => Ok(labels),
    }
}
