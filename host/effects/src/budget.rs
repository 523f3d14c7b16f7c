//! How often the outside is asked: a token bucket for each kind of call, jittered waits, and pauses that double.
//!
//! The buckets of an API are everybody's. A node does not know the others: it begins at the published rate, halves its own when it is
//! throttled, and raises it again with each success. Pure: driven by the readings of a clock and by a seed.

mod bucket;
mod jitter;
mod pause;

pub use self::bucket::{Bucket, Published, Rate};
pub use self::jitter::Jitter;
pub use self::pause::Pause;
