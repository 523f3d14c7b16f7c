//! What a line says, whatever it is about: `{"group":[first,last],"chapter":"ledger","version":1,"fact":{"allocated":{...}}}`.
//!
//! `group` names the places of the facts that were made durable by one sync, so that a reader knows without looking
//! further whether a group is whole, and whether a line belongs to it or to a later one. `chapter` and `version` say who can
//! read the rest; `"optional":true` says that a reader who cannot may go on without it. A snapshot's lines have an `item`
//! in the place of the group and the fact; the facts behind them have their `place` in the place of the group. This never
//! changes; what a chapter's facts look like is the chapter's, in [`v1`](crate::v1).

use std::borrow::Cow;
use std::io::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::frame;

/// A fact, or an item of a snapshot, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Whose it is.
    pub chapter: Cow<'static, str>,
    /// Which form of the chapter it has.
    pub version: u32,
    /// Whether a reader that does not know the chapter, or this form of it, may go on without it.
    pub optional: bool,
    /// The fact's or the item's own JSON.
    pub json: Vec<u8>,
}

/// A line of the log as it is read.
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

/// A line of a snapshot as it is read.
pub(crate) enum SnapshotLine<'a> {
    /// An item of a chapter.
    Item { chapter: Cow<'a, str>, version: u32, optional: bool, item: &'a RawValue },
    /// A fact that was staged while the items were made, so that some have it and some may not.
    Fact { place: u64, chapter: Cow<'a, str>, version: u32, optional: bool, fact: &'a RawValue },
    /// The end, without which a snapshot is not whole: how many lines are before it, and the last place that they may know of.
    End { lines: u64, through: u64 },
}

/// Every key that a line of a snapshot may have, so that one is read in one pass.
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
    /// Reads a line, or says why it is none.
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
            _ => Err("the line is neither an item nor a fact nor the end".to_owned()),
        }
    }
}

/// Of a line of the log, only which group it is of.
#[derive(Deserialize)]
pub(crate) struct GroupOf {
    pub(crate) group: (u64, u64),
}

/// Appends the framed line of a fact, whose group was not known when it was staged.
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

/// Appends the framed line of a fact that a snapshot has behind its items.
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
