//! References to components: `oci://HOST/REPOSITORY[:TAG][@sha256:DIGEST]`.

use std::fmt;
use std::net::IpAddr;

use oci_client::Reference;
use tenure_types::{Error, ErrorCode};

/// The scheme of a reference.
pub(super) const SCHEME: &str = "oci://";

/// A reference.
#[derive(Debug, Clone)]
pub(super) struct OciReference(Reference);

impl OciReference {
    /// Reads a reference. The host is mandatory: no registry is the default one.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |cause: &dyn fmt::Display| {
            Error::new(ErrorCode::InvalidReference, format_args!("{text}: {cause}"))
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| invalid(&"it does not begin with oci://"))?;
        let host = rest.split_once('/').map(|(host, _)| host).unwrap_or_default();
        if !(host.contains(['.', ':']) || host == "localhost") {
            return Err(invalid(
                &"it names no registry; the first part must be a host, such as registry.example.com",
            ));
        }
        let reference: Reference = rest.parse().map_err(|error| invalid(&error))?;
        match reference.digest() {
            Some(digest) if !digest.starts_with("sha256:") => {
                Err(invalid(&"only digests by SHA-256 are accepted"))
            }
            _ => Ok(Self(reference)),
        }
    }

    /// Returns the host, with the port.
    pub(super) fn registry(&self) -> &str {
        self.0.resolve_registry()
    }

    /// The manifest's digest, if the reference has one.
    pub(super) fn digest(&self) -> Option<&str> {
        self.0.digest()
    }

    /// The repository's last part.
    pub(super) fn name(&self) -> &str {
        self.0.repository().rsplit('/').next().unwrap_or_default()
    }

    /// Without the scheme, as registries' clients take it.
    pub(super) fn whole(&self) -> String {
        self.0.whole()
    }

    /// The same reference with a digest.
    pub(super) fn pinned(&self, digest: &str) -> String {
        match self.digest() {
            Some(_) => self.to_string(),
            None => format!("{self}@{digest}"),
        }
    }

    /// Whether its registry is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.registry();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        host == "localhost" || address.is_some_and(|address| address.is_loopback())
    }

    /// The error for a reference without a digest.
    pub(super) fn unpinned(&self) -> Error {
        let cause = format_args!(
            "{self} names no digest, and a tag can change; name its digest, or use `tenurectl policy load --unpinned`, which loads what the tag stands for now and prints its digest"
        );
        Error::new(ErrorCode::InvalidReference, cause)
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.0.whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn parse(text: &str) -> Result<OciReference, Error> {
        OciReference::parse(text)
    }

    #[test]
    fn a_reference_names_a_host_a_repository_and_a_digest() {
        let reference = parse(&format!("oci://registry.example.com/team/zones@{DIGEST}")).unwrap();
        assert_eq!((reference.registry(), reference.name()), ("registry.example.com", "zones"));
        assert_eq!(reference.digest(), Some(DIGEST));
        assert_eq!(reference.pinned("sha256:other"), reference.to_string());
        let tagged = parse("oci://localhost:5000/zones:1").unwrap();
        assert_eq!(tagged.digest(), None);
        assert_eq!(tagged.pinned(DIGEST), format!("oci://localhost:5000/zones:1@{DIGEST}"));
        assert!(tagged.unpinned().cause.contains("--unpinned"));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for (text, cause) in [
            ("oci://zones".to_owned(), "names no registry"),
            ("oci://team/zones:1".to_owned(), "names no registry"),
            ("oci://localhost:5000/".to_owned(), "invalid"),
            ("oci://localhost:5000/Zones".to_owned(), "invalid"),
            (format!("oci://localhost:5000/zones@{}", &DIGEST[..20]), "invalid"),
            (format!("oci://localhost:5000/zones@sha512:{0}{0}", &DIGEST[7..]), "only digests by SHA-256"),
            ("docker://localhost:5000/zones".to_owned(), "oci://"),
        ] {
            let error = parse(&text).map(|_| ()).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidReference);
            assert!(error.cause.contains(cause), "{text}: {error}");
        }
    }

    #[test]
    fn loopback_is_an_address_of_this_machine_and_not_a_name_like_it() {
        for (host, is) in [
            ("localhost:5000", true),
            ("127.0.0.1:5000", true),
            ("127.9.9.9", true),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("10.0.0.1:5000", false),
        ] {
            assert_eq!(parse(&format!("oci://{host}/zones:1")).unwrap().is_loopback(), is, "{host}");
        }
    }
}
