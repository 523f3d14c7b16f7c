//! The settings of the host that a policy's definitions may have.

use tenure_types::Attributes;

/// The name of a setting of the host, such as `connmark`, or the beginning of some with a `*` behind it, such as `snat.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPattern(String);

impl SettingPattern {
    /// Reads a pattern, which must match one of these settings.
    #[must_use]
    pub fn new(text: &str, settings: &[&str]) -> Option<Self> {
        let pattern = Self(text.to_owned());
        settings.iter().any(|setting| pattern.matches(setting)).then_some(pattern)
    }

    fn matches(&self, setting: &str) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == setting, |beginning| setting.starts_with(beginning))
    }
}

/// The first attribute that is a setting of the host and was not granted.
pub(super) fn beyond<'a>(
    granted: &[SettingPattern],
    settings: &[&str],
    attributes: &'a Attributes,
) -> Option<&'a str> {
    let mut names = attributes.iter().map(|(name, _)| name).filter(|name| settings.contains(name));
    names.find(|name| !granted.iter().any(|pattern| pattern.matches(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &[&str] = &["connmark", "snat.exclude", "snat.external"];

    #[test]
    fn only_what_was_granted_may_be_set() {
        let of = |granted: &[&str], name: &str| {
            let granted: Vec<_> =
                granted.iter().map(|text| SettingPattern::new(text, SETTINGS).unwrap()).collect();
            let attributes = Attributes::new([("a.other", "1"), (name, "1")]).unwrap();
            beyond(&granted, SETTINGS, &attributes).map(str::to_owned)
        };
        for (granted, name) in [
            (&[][..], "other.one"),
            (&["connmark"], "connmark"),
            (&["snat.*"], "snat.external"),
            (&["*"], "connmark"),
        ] {
            assert_eq!(of(granted, name), None, "{granted:?} {name}");
        }
        for (granted, name) in
            [(&[][..], "connmark"), (&["snat.*"], "connmark"), (&["snat.external"], "snat.exclude")]
        {
            assert_eq!(of(granted, name).as_deref(), Some(name), "{granted:?}");
        }
    }

    #[test]
    fn a_pattern_that_matches_no_setting_is_none() {
        for wrong in ["", "snat", "connmark2", "mtu", "x*"] {
            assert_eq!(SettingPattern::new(wrong, SETTINGS), None, "{wrong}");
        }
    }
}
