//! The content of a line of any chapter:
//! `{"group":[first,last],"chapter":"ledger","version":1,"fact":{"allocated":{...}}}`.
//!
//! `group` has the places of the first and last fact of the group that one sync made durable. So a reader knows
//! without reading further whether a group is complete, and whether a line belongs to it or to a later one. `chapter`
//! and `version` say who can read the rest; with `"optional":true`, a reader that cannot may skip it. A snapshot's
//! lines have an `item` instead of the group and the fact; the facts after the items have their `place` instead of
//! the group. This part never changes; the form of a chapter's facts is up to the chapter, in [`v1`](crate::v1).

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frame;

/// A fact, or an item of a snapshot, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its chapter.
    pub chapter: Cow<'static, str>,
    /// The version of its form.
    pub version: u32,
    /// Whether a reader that does not know the chapter or the version may skip it.
    pub optional: bool,
    /// The JSON of the fact or item.
    pub json: Vec<u8>,
}

/// A decoded line of the log.
#[derive(Debug, Deserialize)]
pub(crate) struct LogLine<'a> {
    pub(crate) group: (u64, u64),
    #[serde(borrow)]
    pub(crate) chapter: Cow<'a, str>,
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) optional: bool,
    #[serde(borrow)]
    pub(crate) fact: &'a RawValue,
}

/// A decoded line of a snapshot.
pub(crate) enum SnapshotLine<'a> {
    /// An item of a chapter.
    Item { chapter: Cow<'a, str>, version: u32, optional: bool, item: &'a RawValue },
    /// A fact that was staged while the items were read, so that some of them contain it and some may not.
    Fact { place: u64, chapter: Cow<'a, str>, version: u32, optional: bool, fact: &'a RawValue },
    /// The end, without which a snapshot is incomplete: the number of lines before it, and the last place that they
    /// may contain.
    End { lines: u64, through: u64 },
}

/// All keys that a line of a snapshot may have, so that it is parsed in one pass.
#[derive(Deserialize)]
struct AnySnapshotLine<'a> {
    #[serde(borrow, default)]
    chapter: Option<Cow<'a, str>>,
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    optional: bool,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    place: Option<u64>,
    #[serde(borrow, default)]
    fact: Option<&'a RawValue>,
    #[serde(default)]
    lines: Option<u64>,
    #[serde(default)]
    through: Option<u64>,
}

impl<'a> SnapshotLine<'a> {
    /// Decodes a line; the error says what is wrong with it.
    pub(crate) fn decode(json: &'a str) -> Result<Self, String> {
        let line: AnySnapshotLine<'a> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let AnySnapshotLine { chapter, version, optional, item, place, fact, lines, through } = line;
        match (chapter.zip(version), item, place.zip(fact), lines.zip(through)) {
            (Some((chapter, version)), Some(item), None, None) => {
                Ok(Self::Item { chapter, version, optional, item })
            }
            (Some((chapter, version)), None, Some((place, fact)), None) => {
                Ok(Self::Fact { place, chapter, version, optional, fact })
            }
            (None, None, None, Some((lines, through))) => Ok(Self::End { lines, through }),
            _ => Err("the line is not an item, a fact or the end".to_owned()),
        }
    }
}

/// Only the group of a line of the log.
#[derive(Deserialize)]
pub(crate) struct GroupOf {
    pub(crate) group: (u64, u64),
}

/// Appends the framed line of a fact. Its group was unknown when it was staged.
pub(crate) fn encode_fact(out: &mut Vec<u8>, place: u64, group: (u64, u64), line: &Line) {
    let mut json = Vec::with_capacity(line.json.len() + 96);
    // Writing to a Vec cannot fail.
    let _ = write!(json, "{{\"group\":[{},{}],", group.0, group.1);
    finish(&mut json, line, "fact");
    frame::encode(out, place, &json);
}

/// Appends the framed line of a snapshot's item.
pub(crate) fn encode_item(out: &mut Vec<u8>, number: u64, line: &Line) {
    let mut json = Vec::with_capacity(line.json.len() + 64);
    json.push(b'{');
    finish(&mut json, line, "item");
    frame::encode(out, number, &json);
}

/// Appends the framed line of a fact that follows a snapshot's items.
pub(crate) fn encode_staged(out: &mut Vec<u8>, number: u64, place: u64, line: &Line) {
    let mut json = Vec::with_capacity(line.json.len() + 96);
    let _ = write!(json, "{{\"place\":{place},");
    finish(&mut json, line, "fact");
    frame::encode(out, number, &json);
}

/// Appends the framed line that ends a snapshot.
pub(crate) fn encode_end(out: &mut Vec<u8>, number: u64, through: u64) {
    frame::encode(out, number, format!("{{\"lines\":{number},\"through\":{through}}}").as_bytes());
}

fn finish(json: &mut Vec<u8>, line: &Line, key: &str) {
    let optional = if line.optional { "\"optional\":true," } else { "" };
    let (chapter, version) = (&line.chapter, line.version);
    let _ = write!(json, "\"chapter\":\"{chapter}\",\"version\":{version},{optional}\"{key}\":");
    json.extend_from_slice(&line.json);
    json.push(b'}');
}
