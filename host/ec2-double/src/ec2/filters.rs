//! Filters of Describe: `Filter.N.Name` and `Filter.N.Value.M`. Values of one filter are alternatives; all filters must match.

use std::collections::BTreeMap;

use super::parameters::Parameters;
use crate::state::Refusal;

/// The filters of a call.
#[derive(Debug, Default)]
pub(super) struct Filters {
    all: Vec<(String, Vec<String>)>,
}

impl Filters {
    /// Takes the filters; `known` are the names that the action takes, besides `tag-key` and `tag:KEY`.
    pub(super) fn take(parameters: &mut Parameters, known: &[&str]) -> Result<Self, Refusal> {
        let mut all = Vec::new();
        for mut filter in parameters.structures("Filter") {
            let (name, values) = (filter.required("Name")?, filter.texts("Value"));
            filter.finish()?;
            if !known.contains(&name.as_str()) && name != "tag-key" && !name.starts_with("tag:") {
                return Err(Refusal::value(format!("The filter '{name}' is invalid")));
            }
            if values.is_empty() {
                return Err(Refusal::value(format!("The filter '{name}' must have a value")));
            }
            all.push((name, values));
        }
        Ok(Self { all })
    }

    /// Whether an item matches; `values` are what it has for a filter's name.
    pub(super) fn match_all(
        &self,
        tags: &BTreeMap<String, String>,
        values: impl Fn(&str) -> Vec<String>,
    ) -> bool {
        self.all.iter().all(|(name, wanted)| {
            let has = if name == "tag-key" {
                tags.keys().cloned().collect()
            } else if let Some(key) = name.strip_prefix("tag:") {
                tags.get(key).cloned().into_iter().collect()
            } else {
                values(name)
            };
            has.iter().any(|value| wanted.iter().any(|pattern| matches(pattern, value)))
        })
    }
}

/// Whether a text matches a pattern, in which `*` is any text and `?` any character.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pattern_rest = pattern.chars();
    match pattern_rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = pattern_rest.as_str();
            text.char_indices().any(|(at, _)| matches(rest, text.split_at(at).1)) || matches(rest, "")
        }
        Some(wanted) => {
            let mut characters = text.chars();
            let found = characters.next();
            found.is_some_and(|found| wanted == '?' || wanted == found)
                && matches(pattern_rest.as_str(), characters.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("aws-K8S-*", "aws-K8S-i-1", true),
            ("*", "", true),
            ("?", "", false),
            ("a?c*", "abcdef", true),
            ("in-use", "in-us", false),
            ("*end", "the end", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn filters_must_all_match_and_their_values_are_alternatives() {
        let form = "Filter.1.Name=status&Filter.1.Value.1=in-use&Filter.1.Value.2=available&Filter.2.Name=tag:a&Filter.2.Value.1=b";
        let form: BTreeMap<_, _> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        let filters = Filters::take(&mut Parameters::new(&form), &["status"]).unwrap();
        let tags = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        assert!(filters.match_all(&tags, |_| vec!["available".to_owned()]));
        assert!(!filters.match_all(&BTreeMap::new(), |_| vec!["available".to_owned()]));
        assert!(!filters.match_all(&tags, |_| vec!["detaching".to_owned()]));
        let refusal = Filters::take(&mut Parameters::new(&form), &[]).unwrap_err();
        assert_eq!(refusal.message, "The filter 'status' is invalid");
    }
}
