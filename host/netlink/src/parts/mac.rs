//! A hardware address.

use std::fmt;
use std::str::FromStr;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes: Option<Vec<u8>> = text
            .split(':')
            .map(|part| {
                // `from_str_radix` would take a sign, too.
                let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
                digits.then(|| u8::from_str_radix(part, 16).ok()).flatten()
            })
            .collect();
        let bytes = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        bytes.map(Self).ok_or_else(|| format!("{text} is not a hardware address like 02:00:5e:00:53:01"))
    }
}
