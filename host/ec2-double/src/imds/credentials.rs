//! The credentials of an instance's role: of no use to anybody but for telling the callers apart.

use jiff::Timestamp;
use serde_json::json;

use crate::world::access_key;

/// The role of every instance.
pub(super) const ROLE: &str = "tenure-node";

/// How long they are good, in milliseconds of the machine's clock.
const LIFE_MS: i64 = 6 * 3_600_000;

/// The document that SDKs read.
pub(super) fn document(instance: &str, wall_clock: i64) -> String {
    let date = |milliseconds: i64| {
        Timestamp::from_millisecond(milliseconds).map_or_else(|_| String::new(), |date| format!("{date:.0}"))
    };
    let document = json!({
        "Code": "Success",
        "LastUpdated": date(wall_clock),
        "Type": "AWS-HMAC",
        "AccessKeyId": access_key(instance),
        "SecretAccessKey": "not-a-secret",
        "Token": format!("session-of-{instance}"),
        "Expiration": date(wall_clock.saturating_add(LIFE_MS)),
    });
    format!("{document:#}")
}
