//! A record's line in the log: `{"group":[first,last],"record":{"allocate":{...}}}`.
//!
//! `group` names the places of the records that were made durable by one sync, so that a reader knows without looking
//! further whether a group is whole, and whether a line belongs to it or to a later one.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_types::{Allocation, Generation, Moment, Network, NetworkName, Place, Record};

use crate::frame;

/// A record with the group that it was made durable in.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry {
    pub(crate) group: (u64, u64),
    #[serde(with = "Stored")]
    pub(crate) record: Record,
}

/// Of an entry, only which group it is of.
#[derive(Deserialize)]
pub(crate) struct GroupOf {
    pub(crate) group: (u64, u64),
}

/// A record as it is stored.
///
/// Its kind is the key rather than a field: such JSON is read in one pass, and `jq .record.allocate` finds it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Record", rename_all = "kebab-case")]
enum Stored {
    Network(Box<Network>),
    Allocate(Arc<Allocation>),
    Renew {
        network: NetworkName,
        generation: Generation,
        requested_at: Moment,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        netns: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns_seen: Option<Place>,
    },
    Release {
        network: NetworkName,
        generation: Generation,
        at: Moment,
        reason: String,
    },
}

/// A record's JSON, without the group, which is not known when a record is staged.
pub(crate) fn encode_record(record: &Record) -> io::Result<Vec<u8>> {
    let mut json = Vec::with_capacity(640);
    Stored::serialize(record, &mut serde_json::Serializer::new(&mut json))?;
    Ok(json)
}

/// Appends the framed line of a record.
pub(crate) fn encode(out: &mut Vec<u8>, place: u64, group: (u64, u64), record: &[u8]) {
    let mut json = format!("{{\"group\":[{},{}],\"record\":", group.0, group.1).into_bytes();
    json.extend_from_slice(record);
    json.push(b'}');
    frame::encode(out, place, &json);
}
