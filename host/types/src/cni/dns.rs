//! A pod's DNS settings.

use serde::Serialize;

/// The `dns` part of a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Dns {
    /// The servers, in the order in which they are queried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// The local domain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The search domains for short names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// The resolver's options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Dns {
    /// Reads the text of a resolv.conf. Unknown lines are skipped, as resolvers do.
    #[must_use]
    pub fn from_resolv_conf(text: &str) -> Self {
        let mut dns = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next().as_deref() {
                Some("nameserver") => dns.nameservers.extend(words.next()),
                Some("domain") => dns.domain = words.next().unwrap_or(dns.domain),
                Some("search") => dns.search.extend(words),
                Some("options") => dns.options.extend(words),
                _ => {}
            }
        }
        dns
    }

    /// Whether there are no settings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolv_conf_is_read_like_a_resolver_does() {
        let dns = Dns::from_resolv_conf(
            "# comment\n; another\n\n nameserver 192.0.2.1 ignored\nnameserver 192.0.2.2\ndomain example.com\n\
             search a.example.com\tb.example.com\noptions ndots:2 rotate\nnameserver\nsortlist 192.0.2.0\n",
        );
        assert_eq!(dns.nameservers, ["192.0.2.1", "192.0.2.2"]);
        assert_eq!(dns.domain, "example.com");
        assert_eq!(dns.search, ["a.example.com", "b.example.com"]);
        assert_eq!(dns.options, ["ndots:2", "rotate"]);
        assert!(Dns::from_resolv_conf("\n#nameserver 192.0.2.1\n").is_empty());
    }
}
