//! Parsers for command-line values.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use jiff::Timestamp;
use tenure_types::NetworkName;

use crate::clock::now_ms;

/// An address, with or without the prefix length that tables print after it.
pub(crate) fn address(text: &str) -> Result<IpAddr, String> {
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr = address.parse().map_err(|_| "not an IP address".to_owned())?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    match prefix.map(str::parse::<u8>) {
        None => Ok(address),
        Some(Ok(prefix)) if prefix <= longest => Ok(address),
        Some(_) => Err(format!("invalid prefix length; expected a number from 0 to {longest}")),
    }
}

/// Seconds, whole or with a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A time limit in seconds, whole or with a fraction.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        limit => Ok(limit),
    }
}

/// A SHA-256 digest.
pub(crate) fn sha256(text: &str) -> Result<String, String> {
    match text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text.to_owned()),
        false => Err("must be 64 hexadecimal digits; `sha256sum FILE` prints them".to_owned()),
    }
}

/// A time, or how long ago it was, as Unix time in milliseconds.
pub(crate) fn since(text: &str) -> Result<u64, String> {
    since_of(text, now_ms())
}

fn since_of(text: &str, now_ms: u64) -> Result<u64, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return u64::try_from(time.as_millisecond()).map_err(|_| "a time before 1970".to_owned());
    }
    let wrong = || "neither a time such as 2026-11-24T08:00:00Z nor an age such as 30m, 2h or 1d".to_owned();
    let seconds: u64 = match text.char_indices().next_back() {
        Some((_, 's')) => 1,
        Some((_, 'm')) => 60,
        Some((_, 'h')) => 3_600,
        Some((_, 'd')) => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = text.get(..text.len() - 1).and_then(|count| count.parse().ok()).ok_or_else(wrong)?;
    Ok(now_ms.saturating_sub(count.saturating_mul(seconds).saturating_mul(1000)))
}

/// A path, which is made absolute: it outlives the command, whose working directory the next one need not share.
pub(crate) fn absolute_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(std::path::absolute)
}

/// A network's name.
pub(crate) fn network(text: &str) -> Result<NetworkName, String> {
    NetworkName::new(text).map_err(|error| error.to_string())
}

/// The name of a network configuration list in a directory of them.
pub(crate) fn conflist_name(text: &str) -> Result<String, String> {
    let stem = text.strip_suffix(".conflist").unwrap_or_default();
    match stem.is_empty() || stem.starts_with('.') || stem.contains('/') {
        true => Err("expected the name of a file that ends in .conflist, without a directory".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// The name of a plugin in a directory of them, other than ours.
pub(crate) fn plugin_name(text: &str) -> Result<String, String> {
    match text.is_empty() || text.starts_with('.') || text.contains('/') || text == "tenure" {
        true => Err("expected the name of a plugin other than tenure, without a directory".to_owned()),
        false => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_the_prefix_length_of_a_table() {
        let expected: IpAddr = "10.88.0.2".parse().unwrap();
        assert_eq!(address("10.88.0.2/16"), Ok(expected));
        assert_eq!(address("10.88.0.2"), Ok(expected));
        assert_eq!(address("fd00::7/64"), Ok("fd00::7".parse().unwrap()));
        for wrong in ["pods", "10.88.0.2/33", "10.88.0.2/", "10.88.0.2/x", "/16"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_configuration_has_a_name_that_a_runtime_reads() {
        assert_eq!(conflist_name("05-pods.conflist").as_deref(), Ok("05-pods.conflist"));
        for wrong in ["", ".conflist", "05-pods.conf", "../05-pods.conflist", ".05-pods.conflist"] {
            assert!(conflist_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_link_has_a_name_beside_the_plugin() {
        assert_eq!(plugin_name("tenure-eni").as_deref(), Ok("tenure-eni"));
        for wrong in ["", "tenure", "../tenure-eni", ".tenure-eni"] {
            assert!(plugin_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wait_is_a_number_of_seconds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["-1", "soon", "NaN", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_time_in_the_past_is_a_time_or_an_age() {
        assert_eq!(since_of("2023-11-14T22:13:20Z", 0), Ok(1_700_000_000_000));
        assert_eq!(since_of("90s", 100_000), Ok(10_000));
        assert_eq!((since_of("2h", 7_200_001), since_of("1d", 5)), (Ok(1), Ok(0)));
        for wrong in ["", "h", "2", "2 weeks", "-1h", "yesterday", "1é"] {
            assert!(since_of(wrong, 0).is_err(), "{wrong}");
        }
    }
}
