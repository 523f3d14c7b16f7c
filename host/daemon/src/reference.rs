//! The configuration reference as Markdown, generated from the configuration's doc comments and defaults.

use std::fmt::Write;

use serde_json::Value;

use crate::config::{Config, DEFAULT_PATH, is_live};

/// The whole page.
pub(crate) fn page() -> String {
    let schema = schemars::schema_for!(Config).to_value();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut page = format!(
        "# Configuration reference\n\n`tenured` reads `{DEFAULT_PATH}` if it exists, or the file given with `--config`. \
         A key has a default unless it is required; an unknown key is refused with its path. SIGHUP and `tenurectl reload` read the file again: a *live* key \
         then takes effect at once, any other after a restart. An invalid file changes nothing.\n"
    );
    let sections = schema.get("properties").and_then(Value::as_object);
    for (name, section) in sections.into_iter().flatten() {
        let definition = resolve(&schema, section);
        // A map of tables: each entry is a section of its own.
        let (title, definition) = match definition.get("additionalProperties") {
            Some(entry) if entry.is_object() => (format!("{name}.NAME"), resolve(&schema, entry)),
            _ => (name.clone(), definition),
        };
        let _ = write!(
            page,
            "\n## `[{title}]`\n\n{}\n\n| key | default | takes effect | meaning |\n|---|---|---|---|\n",
            text(section, definition)
        );
        for (key, property) in definition.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let default = defaults.get(name).and_then(|section| section.get(key));
            let default = match default.or_else(|| property.get("default")) {
                None | Some(Value::Null) => "none".to_owned(),
                Some(Value::Array(items)) if items.is_empty() => "none".to_owned(),
                Some(Value::String(text)) if text.is_empty() => "required".to_owned(),
                Some(value) => format!("`{value}`"),
            };
            let holds = if is_live(&format!("{name}.{key}")) { "live" } else { "after a restart" };
            let _ = writeln!(page, "| `{key}` | {default} | {holds} | {} |", text(property, property));
        }
    }
    page
}

/// Follows a `$ref` into the schema's definitions.
fn resolve<'a>(schema: &'a Value, property: &'a Value) -> &'a Value {
    let name = property.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    name.and_then(|name| schema.get("$defs")?.get(name)).unwrap_or(property)
}

fn text<'a>(property: &'a Value, definition: &'a Value) -> &'a str {
    let description = property.get("description").or_else(|| definition.get("description"));
    description.and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_key_stands_in_the_page_with_its_default() {
        let page = super::page();
        for line in [
            "## `[addresses]`",
            "| `cooldown_seconds` | `30` | live |",
            "## `[policies.NAME]`",
            "| `sha256` | none | live |",
            "## `[delegates.NAME]`",
            "| `path` | required | live |",
            "## `[networks.NAME]`",
            "| `exclusive` | `false` | live |",
            "| `within` | none | live |",
            "| `memory_mib` | `16` | after a restart |",
            "Without `networks`, `pods` and `node`, tenured asks no API server.",
        ] {
            assert!(page.contains(line), "{line} is missing in\n{page}");
        }
    }
}
