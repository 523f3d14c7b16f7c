//! The signature of a call: whether it is there, and for this service, region and time.
//!
//! The signature itself is not computed: the double knows no secrets.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::http::Asked;
use crate::state::Refusal;
use crate::world::Signature;

/// How old or early a signature may be, in milliseconds.
const WINDOW_MS: i64 = 300_000;

/// The access key of a call; empty without a signature.
pub(super) fn access_key(asked: &Asked) -> String {
    scope(asked).and_then(|scope| scope.first().map(|key| (*key).to_owned())).unwrap_or_default()
}

/// Checks a call's signature.
///
/// # Errors
/// `AuthFailure`, or `RequestExpired` if it is too old.
pub(super) fn check(asked: &Asked, region: &str, rule: Signature, wall_clock: i64) -> Result<(), Refusal> {
    if !rule.required && asked.header("authorization").is_empty() {
        return Ok(());
    }
    let failure = || {
        let message = "AWS was not able to validate the provided access credentials";
        Refusal::new("AuthFailure", message).with_status(401)
    };
    let scope = scope(asked).ok_or_else(failure)?;
    let [_, day, signed_region, service, end] = scope.as_slice() else { return Err(failure()) };
    let header = asked.header("x-amz-date");
    if *signed_region != region || *service != "ec2" || *end != "aws4_request" || !header.starts_with(day) {
        return Err(failure());
    }
    let signed = DateTime::strptime("%Y%m%dT%H%M%SZ", header)
        .and_then(|date| date.to_zoned(TimeZone::UTC))
        .map_err(|_| failure())?;
    let age = wall_clock + rule.skew_s.saturating_mul(1000) - signed.timestamp().as_millisecond();
    if age > WINDOW_MS {
        return Err(Refusal::new("RequestExpired", "Request has expired."));
    }
    if age < -WINDOW_MS { Err(failure()) } else { Ok(()) }
}

/// The parts of `Credential=KEY/DAY/REGION/SERVICE/aws4_request`, if the header has all that a signature needs.
fn scope(asked: &Asked) -> Option<Vec<&str>> {
    let fields = asked.header("authorization").strip_prefix("AWS4-HMAC-SHA256 ")?;
    let field =
        |name: &str| fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
    let signature = field("Signature")?;
    let is_whole = signature.len() == 64 && signature.bytes().all(|byte| byte.is_ascii_hexdigit());
    field("SignedHeaders").filter(|_| is_whole)?;
    Some(field("Credential")?.split('/').collect())
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;

    fn asked(credential: &str, date: &str) -> Asked {
        let mut headers = HeaderMap::new();
        let signature = "0".repeat(64);
        let text = format!(
            "AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host;x-amz-date, Signature={signature}"
        );
        headers.insert("authorization", HeaderValue::from_str(&text).unwrap());
        headers.insert("x-amz-date", HeaderValue::from_str(date).unwrap());
        Asked {
            method: Method::POST,
            path: "/".to_owned(),
            query: String::new(),
            headers,
            body: hyper::body::Bytes::new(),
        }
    }

    fn code(credential: &str, date: &str, skew_s: i64) -> Result<(), String> {
        // 2026-01-01T12:00:00Z
        let noon = 1_767_268_800_000;
        let asked = asked(credential, date);
        check(&asked, "eu-central-1", Signature { required: true, skew_s }, noon)
            .map_err(|refusal| refusal.code.into_owned())
    }

    #[test]
    fn service_region_and_time_are_checked() {
        let good = "AKID/20260101/eu-central-1/ec2/aws4_request";
        assert_eq!(code(good, "20260101T115600Z", 0), Ok(()));
        assert_eq!(code(good, "20260101T115400Z", 0), Err("RequestExpired".to_owned()));
        assert_eq!(code(good, "20260101T120000Z", 301), Err("RequestExpired".to_owned()));
        assert_eq!(code(good, "20260101T120000Z", -301), Err("AuthFailure".to_owned()));
        for wrong in [
            "AKID/20260101/eu-central-1/s3/aws4_request",
            "AKID/20260101/us-east-1/ec2/aws4_request",
            "AKID/20260102/eu-central-1/ec2/aws4_request",
            "AKID",
        ] {
            assert_eq!(code(wrong, "20260101T120000Z", 0), Err("AuthFailure".to_owned()), "{wrong}");
        }
        assert_eq!(access_key(&asked(good, "")), "AKID");
    }
}
