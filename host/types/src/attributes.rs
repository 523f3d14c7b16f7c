//! Named values on pools, ranges, addresses and allocations, for the programs that configure the kernel or a cloud
//! accordingly.
//!
//! They come from policies and suppliers, so they are bounded in number and length. Clones share one copy.

use std::fmt;
use std::sync::Arc;

/// The maximum number of attributes of one object.
pub const MOST_ATTRIBUTES: usize = 32;

/// The maximum length of a name, in bytes.
const LONGEST_NAME: usize = 64;

/// The maximum length of a value, in bytes.
const LONGEST_VALUE: usize = 512;

/// Why attributes are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAttributes {
    /// There are too many.
    #[error("{0} attributes, but at most {MOST_ATTRIBUTES} are allowed")]
    TooMany(usize),
    /// A name is empty, too long, or has characters other than letters, digits, `.`, `_`, `-` and `/`.
    #[error("attribute name {0:?} must be 1 to {LONGEST_NAME} letters, digits, '.', '_', '-' or '/'")]
    Name(String),
    /// A value is too long or contains control characters.
    #[error("the value of attribute {0} is longer than {LONGEST_VALUE} bytes or contains control characters")]
    Value(String),
    /// A name occurs twice.
    #[error("attribute {0} occurs twice")]
    Twice(String),
}

type Pair = (Box<str>, Box<str>);

/// Named values, sorted by name, each name once.
///
/// A pointer to a pointer, because very many values have none: an `Arc<[_]>` is twice as large.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Attributes(Option<Arc<Box<[Pair]>>>);

impl Attributes {
    /// Checks and sorts pairs of name and value.
    ///
    /// # Errors
    /// [`InvalidAttributes`] with the first rule that is broken.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, InvalidAttributes> {
        let mut checked: Vec<Pair> = Vec::new();
        for (name, value) in pairs {
            checked.push(check(name.as_ref(), value.as_ref())?);
        }
        if checked.len() > MOST_ATTRIBUTES {
            return Err(InvalidAttributes::TooMany(checked.len()));
        }
        checked.sort_unstable();
        if let Some(twice) = checked.windows(2).find_map(|pair| match pair {
            [(left, _), (right, _)] if left == right => Some(left),
            _ => None,
        }) {
            return Err(InvalidAttributes::Twice(twice.to_string()));
        }
        Ok(Self((!checked.is_empty()).then(|| Arc::new(checked.into()))))
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let pairs = self.0.as_ref()?;
        let found = pairs.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        pairs.get(found).map(|(_, value)| &**value)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The pairs, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|pairs| pairs.iter()).map(|(name, value)| (&**name, &**value))
    }
}

fn check(name: &str, value: &str) -> Result<Pair, InvalidAttributes> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_name) {
        return Err(InvalidAttributes::Name(name.chars().take(LONGEST_NAME).collect()));
    }
    if value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
        return Err(InvalidAttributes::Value(name.to_owned()));
    }
    Ok((name.into(), value.into()))
}

impl fmt::Debug for Attributes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

/// `name=value` pairs, separated by commas.
impl fmt::Display for Attributes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(formatter, "{comma}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_sorted_and_found_by_name() {
        let attributes = Attributes::new([("zone", "b"), ("eni", "eni-1")]).unwrap();
        assert_eq!(attributes.to_string(), "eni=eni-1,zone=b");
        assert_eq!((attributes.get("zone"), attributes.get("card")), (Some("b"), None));
        assert_eq!(Attributes::new([("", ""); 0]).unwrap(), Attributes::default());
    }

    #[test]
    fn what_is_beyond_the_bounds_is_refused_by_name() {
        let one = |name: &str, value: &str| Attributes::new([(name, value)]).unwrap_err();
        for name in ["", "a b", "ä", &"n".repeat(65)] {
            assert!(matches!(one(name, ""), InvalidAttributes::Name(_)), "{name:?}");
        }
        for value in ["a\nb", &"v".repeat(513)] {
            assert_eq!(one("zone", value), InvalidAttributes::Value("zone".into()));
        }
        let twice = Attributes::new([("a", "1"), ("a", "2")]);
        assert_eq!(twice, Err(InvalidAttributes::Twice("a".into())));
        let many = (0..=MOST_ATTRIBUTES).map(|number| (format!("n{number}"), ""));
        assert_eq!(Attributes::new(many), Err(InvalidAttributes::TooMany(MOST_ATTRIBUTES + 1)));
    }
}
