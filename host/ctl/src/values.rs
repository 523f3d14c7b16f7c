//! Parsers for command-line values.

use std::net::IpAddr;
use std::time::Duration;

use tenure_types::NetworkName;

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

/// A network's name.
pub(crate) fn network(text: &str) -> Result<NetworkName, String> {
    NetworkName::new(text).map_err(|error| error.to_string())
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
    fn a_wait_is_a_number_of_seconds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["-1", "soon", "NaN", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
