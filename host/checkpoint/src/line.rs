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
use std::str::FromStr;

use crate::frame;

/// A fact, or an item of a snapshot, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapterLine {
    /// The line's chapter.
    pub chapter: Cow<'static, str>,
    /// The version of its form.
    pub version: u32,
    /// Whether a reader that does not know the chapter or the version may skip it.
    pub optional: bool,
    /// The JSON of the fact or item.
    pub json: Vec<u8>,
}

/// The part of a line that says whose it is, and the rest for its chapter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFact<'a> {
    /// The chapter.
    pub(crate) chapter: &'a str,
    /// The version of its form.
    pub(crate) version: u32,
    /// Whether a reader that does not know the chapter or the version may skip it.
    pub(crate) optional: bool,
    /// The JSON of the fact or item, which only its chapter parses.
    pub(crate) json: &'a str,
}

/// A decoded line of the log.
#[derive(Debug)]
pub(crate) struct LogLine<'a> {
    pub(crate) group: (u64, u64),
    pub(crate) fact: RawFact<'a>,
}

impl<'a> LogLine<'a> {
    /// Decodes a line; `None` if it is not a fact.
    pub(crate) fn decode(json: &'a str) -> Option<Self> {
        let mut keys = Keys(json);
        let group = keys.group()?;
        Some(Self { group, fact: keys.given("fact")? })
    }
}

/// The group of a line of the log.
pub(crate) fn group_of(json: &str) -> Option<(u64, u64)> {
    Keys(json).group()
}

/// A decoded line of a snapshot.
pub(crate) enum SnapshotLine<'a> {
    /// An item of a chapter.
    Item(RawFact<'a>),
    /// A fact that was staged while the items were read, so that some of them contain it and some may not.
    Fact { place: u64, fact: RawFact<'a> },
    /// The end, without which a snapshot is incomplete: the number of lines before it, and the last place that they
    /// may contain.
    End { lines: u64, through: u64 },
}

impl<'a> SnapshotLine<'a> {
    /// Decodes a line; `None` if it is not an item, a fact or the end.
    pub(crate) fn decode(json: &'a str) -> Option<Self> {
        let mut keys = Keys(json);
        if keys.skip("{\"place\":").is_some() {
            let place = keys.number()?;
            keys.skip(",")?;
            return Some(Self::Fact { place, fact: keys.given("fact")? });
        }
        if keys.skip("{\"lines\":").is_some() {
            let lines = keys.number()?;
            keys.skip(",\"through\":")?;
            let through = keys.number()?;
            return (keys.0 == "}").then_some(Self::End { lines, through });
        }
        keys.skip("{")?;
        keys.given("item").map(Self::Item)
    }
}

/// The keys of a line, read in the order in which they are always written. A start reads every line, so it does not
/// parse the long rest twice.
struct Keys<'a>(&'a str);

impl<'a> Keys<'a> {
    fn skip(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn number<N: FromStr>(&mut self) -> Option<N> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.parse().ok()
    }

    fn group(&mut self) -> Option<(u64, u64)> {
        self.skip("{\"group\":[")?;
        let first = self.number()?;
        self.skip(",")?;
        let last = self.number()?;
        self.skip("],")?;
        Some((first, last))
    }

    /// From the chapter on. The rest stands under the key.
    fn given(mut self, key: &str) -> Option<RawFact<'a>> {
        self.skip("\"chapter\":\"")?;
        let (chapter, rest) = self.0.split_once('"')?;
        self.0 = rest;
        self.skip(",\"version\":")?;
        let version = self.number()?;
        self.skip(",")?;
        let optional = self.skip("\"optional\":true,").is_some();
        // It is left out where it is false, and may also say so.
        let _ = self.skip("\"optional\":false,");
        self.skip("\"")?;
        self.skip(key)?;
        self.skip("\":")?;
        Some(RawFact { chapter, version, optional, json: self.0.strip_suffix('}')? })
    }
}

/// Appends the framed line of a fact. Its group was unknown when it was staged.
pub(crate) fn encode_fact(out: &mut Vec<u8>, place: u64, group: (u64, u64), line: &ChapterLine) {
    let mut json = Vec::with_capacity(line.json.len() + 96);
    // Writing to a Vec cannot fail.
    let _ = write!(json, "{{\"group\":[{},{}],", group.0, group.1);
    finish(&mut json, line, "fact");
    frame::encode(out, place, &json);
}

/// Appends the framed line of a snapshot's item.
pub(crate) fn encode_item(out: &mut Vec<u8>, number: u64, line: &ChapterLine) {
    let mut json = Vec::with_capacity(line.json.len() + 64);
    json.push(b'{');
    finish(&mut json, line, "item");
    frame::encode(out, number, &json);
}

/// Appends the framed line of a fact that follows a snapshot's items.
pub(crate) fn encode_staged(out: &mut Vec<u8>, number: u64, place: u64, line: &ChapterLine) {
    let mut json = Vec::with_capacity(line.json.len() + 96);
    let _ = write!(json, "{{\"place\":{place},");
    finish(&mut json, line, "fact");
    frame::encode(out, number, &json);
}

/// Appends the framed line that ends a snapshot.
pub(crate) fn encode_end(out: &mut Vec<u8>, number: u64, through: u64) {
    frame::encode(out, number, format!("{{\"lines\":{number},\"through\":{through}}}").as_bytes());
}

fn finish(json: &mut Vec<u8>, line: &ChapterLine, key: &str) {
    let optional = if line.optional { "\"optional\":true," } else { "" };
    let (chapter, version) = (&line.chapter, line.version);
    let _ = write!(json, "\"chapter\":\"{chapter}\",\"version\":{version},{optional}\"{key}\":");
    json.extend_from_slice(&line.json);
    json.push(b'}');
}
