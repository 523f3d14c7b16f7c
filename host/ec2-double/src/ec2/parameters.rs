//! The parameters of a call. What an action does not take is refused.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::state::Refusal;

/// The parameters that have not been taken yet.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    values: BTreeMap<String, String>,
    /// The prefix of these parameters in the call, for messages; empty, or ending in a dot.
    prefix: String,
}

impl Parameters {
    /// The parameters of a form.
    pub(super) fn new(form: &BTreeMap<String, String>) -> Self {
        let mut values = form.clone();
        values.remove("Action");
        values.remove("Version");
        Self { values, prefix: String::new() }
    }

    /// Takes a text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    /// Takes a text that must be there.
    pub(super) fn required(&mut self, name: &str) -> Result<String, Refusal> {
        let found = self.text(name).filter(|text| !text.is_empty());
        found.ok_or_else(|| Refusal::missing(&format!("{}{name}", self.prefix)))
    }

    /// Takes a value that is read from its text.
    pub(super) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Refusal> {
        self.text(name).map(|text| read(&format!("{}{name}", self.prefix), &text)).transpose()
    }

    /// Takes `true` or `false`.
    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, Refusal> {
        self.value(name)
    }

    /// Takes the list `NAME.1`, `NAME.2` and so on.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let mut found = BTreeMap::new();
        for key in self.keys_of(name) {
            if let Some(index) =
                key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')?.parse::<u32>().ok())
                && let Some(value) = self.values.remove(&key)
            {
                found.insert(index, value);
            }
        }
        found.into_values().collect()
    }

    /// Takes a list whose members are read from their texts.
    pub(super) fn list<T: FromStr>(&mut self, name: &str) -> Result<Vec<T>, Refusal> {
        let full = format!("{}{name}", self.prefix);
        self.texts(name).iter().map(|text| read(&full, text)).collect()
    }

    /// Takes the structures `NAME.1.*`, `NAME.2.*` and so on.
    pub(super) fn structures(&mut self, name: &str) -> Vec<Self> {
        let mut found: BTreeMap<u32, Self> = BTreeMap::new();
        for key in self.keys_of(name) {
            let rest = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')?.split_once('.'));
            let Some((index, field)) = rest else { continue };
            let (Ok(number), field) = (index.parse(), field.to_owned()) else { continue };
            let prefix = format!("{}{name}.{index}.", self.prefix);
            let structure = found.entry(number).or_insert_with(|| Self { prefix, ..Self::default() });
            if let Some(value) = self.values.remove(&key) {
                structure.values.insert(field, value);
            }
        }
        found.into_values().collect()
    }

    /// Whether the list `NAME.1` and so on has members.
    pub(super) fn has_list(&self, name: &str) -> bool {
        !self.keys_of(name).is_empty()
    }

    /// The parameters that no action has read yet.
    pub(super) fn remaining(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    /// Refuses what was not taken.
    pub(super) fn finish(&self) -> Result<(), Refusal> {
        self.values.keys().next().map_or(Ok(()), |name| {
            let message = format!("The parameter {}{name} is not recognized", self.prefix);
            Err(Refusal::new("UnknownParameter", message))
        })
    }

    fn keys_of(&self, name: &str) -> Vec<String> {
        let is_of = |key: &&String| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.values.keys().filter(is_of).cloned().collect()
    }
}

fn read<T: FromStr>(name: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| Refusal::value(format!("Value ({text}) for parameter {name} is invalid.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(form: &str) -> Parameters {
        let form = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        Parameters::new(&form)
    }

    #[test]
    fn lists_are_in_the_order_of_their_numbers() {
        let mut found = parameters("Action=A&Version=B&Id.10=c&Id.2=b&Id.1=a&IdX.1=z");
        assert_eq!(found.texts("Id"), ["a", "b", "c"]);
        assert_eq!(found.finish().unwrap_err().message, "The parameter IdX.1 is not recognized");
    }

    #[test]
    fn structures_nest() {
        let mut found = parameters("Filter.1.Name=n&Filter.1.Value.1=x&Filter.1.Value.2=y&Filter.2.Nam=m");
        let mut filters = found.structures("Filter");
        found.finish().unwrap();
        let first = filters.first_mut().unwrap();
        assert_eq!((first.required("Name").unwrap().as_str(), first.texts("Value").len()), ("n", 2));
        let second = filters.get_mut(1).unwrap();
        assert_eq!(
            second.required("Name").unwrap_err().message,
            "The request must contain the parameter Filter.2.Name"
        );
        assert_eq!(second.finish().unwrap_err().message, "The parameter Filter.2.Nam is not recognized");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let mut found = parameters("Count=-1&DryRun=yes");
        assert_eq!(
            found.value::<u32>("Count").unwrap_err().message,
            "Value (-1) for parameter Count is invalid."
        );
        assert!(found.boolean("DryRun").is_err());
    }
}
