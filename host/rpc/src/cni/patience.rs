//! How long the caller of an ADD waits for a supply that is on its way.
//!
//! The plugin sends its deadline as `grpc-timeout`. A caller whose deadline passes learns nothing but that, so an ADD that still
//! waits for supply shortly before is answered with what it waits for.

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// The time that an answer needs at most to reach its caller.
const WAY_BACK: Duration = Duration::from_secs(1);
/// The part of its time that a caller waits at least.
const WAITS: f64 = 0.9;

/// How long a call may wait for supply, from its metadata; `None` if its caller names no deadline, or none that can be read.
pub(super) fn patience(metadata: &MetadataMap) -> Option<Duration> {
    let timeout = timeout(metadata.get("grpc-timeout")?.to_str().ok()?)?;
    Some(timeout.mul_f64(WAITS).max(timeout.saturating_sub(WAY_BACK)))
}

/// A timeout as gRPC over HTTP/2 writes it: up to eight digits and a unit.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3_600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &'static str) -> Option<Duration> {
        let mut metadata = MetadataMap::new();
        metadata.insert("grpc-timeout", text.parse().unwrap());
        patience(&metadata)
    }

    #[test]
    fn a_caller_is_answered_shortly_before_its_deadline() {
        assert_eq!(of("30000m"), Some(Duration::from_secs(29)));
        assert_eq!(of("2S"), Some(Duration::from_millis(1_800)));
        assert_eq!(of("1M"), Some(Duration::from_secs(59)));
    }

    #[test]
    fn a_deadline_that_cannot_be_read_is_none() {
        assert_eq!(patience(&MetadataMap::new()), None);
        for text in ["", "m", "5", "5x", "-5m", "+5m", "123456789S", "5 S"] {
            assert_eq!(of(text), None, "{text:?}");
        }
    }
}
