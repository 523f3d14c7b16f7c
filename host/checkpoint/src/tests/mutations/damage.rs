//! The ways in which a state directory is damaged: each byte class of each kind of line, each line, each file.

use super::shapes::Shape;
use crate::names;
use crate::tests::corpus::Files;

/// A damaged state directory.
pub(super) struct Damage {
    pub(super) class: &'static str,
    /// Which file and where, for people.
    pub(super) what: String,
    pub(super) files: Files,
    /// Whether it takes nothing but the end of the log, so that what is left was once the whole state.
    pub(super) cuts_end: bool,
    /// Whether whole files were changed.
    pub(super) file_level: bool,
}

/// The one damage beside cut ends that only a witness can notice.
pub(super) const ANOTHER_END: &str = "the last log of another history";

/// The bytes of a file, with its lines' beginnings.
struct Text<'a> {
    name: &'a str,
    bytes: &'a [u8],
    /// The beginning of each line, and the end.
    begins: Vec<usize>,
    is_last_log: bool,
}

impl<'a> Text<'a> {
    fn of(name: &'a str, bytes: &'a [u8], last_log: &str) -> Self {
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let begins = std::iter::once(0).chain(ends).collect();
        Self { name, bytes, begins, is_last_log: name == last_log }
    }

    fn lines(&self) -> usize {
        self.begins.len() - 1
    }

    fn line(&self, number: usize) -> std::ops::Range<usize> {
        self.begins[number]..self.begins[number + 1]
    }

    /// The lines to damage: the header, the first and the last ones, and some between.
    fn chosen(&self) -> Vec<usize> {
        let last = self.lines() - 1;
        let mut chosen: Vec<_> = [0, 1, last / 2, last.saturating_sub(2), last.saturating_sub(1), last]
            .into_iter()
            .filter(|line| *line <= last)
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// The first line of the last group, which a crash may leave incomplete.
    fn last_group(&self) -> usize {
        let first = |line: usize| {
            let text = std::str::from_utf8(&self.bytes[self.line(line)]).unwrap();
            let (_, group) = text.split_once("{\"group\":[")?;
            group.split(',').next()?.parse::<u64>().ok()
        };
        let last = self.lines() - 1;
        (0..=last)
            .rev()
            .take_while(|line| first(*line).is_some() && first(*line) == first(last))
            .last()
            .unwrap_or(last)
    }

    /// An offset in each class of bytes of a line.
    fn classes(&self, line: usize) -> Vec<(&'static str, usize)> {
        let range = self.line(line);
        let text = &self.bytes[range.clone()];
        let find = |what: &[u8], from: usize| {
            text[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
        };
        let json = find(b" {", 0).unwrap() + 1;
        let column = |number: usize| {
            text.iter().enumerate().filter(|(_, byte)| **byte == b' ').nth(number - 1).unwrap().0
        };
        let mut classes = vec![
            ("crc", 3),
            ("space", column(1)),
            ("seq", column(1) + 1),
            ("space", column(2)),
            ("len", column(2) + 1),
            ("brace", json),
            ("key", json + 2),
            ("body", json + (text.len() - json) / 2),
            ("end", text.len() - 2),
            ("newline", text.len() - 1),
        ];
        for (class, needle) in [
            ("group", &b"group\":["[..]),
            ("version", b"version\":"),
            ("chapter", b"chapter\":\""),
            ("first", b"first\":"),
            ("boot", b"boot\":\""),
            ("after", b"after\":{\"fact\":"),
            ("through", b"through\":"),
        ] {
            if let Some(at) = find(needle, json) {
                classes.push((class, at + needle.len()));
            }
        }
        classes.into_iter().map(|(class, at)| (class, range.start + at)).collect()
    }
}

/// Damages a shape in every way, one at a time.
pub(super) fn each(shape: &Shape, found: &mut dyn FnMut(Damage)) {
    let last_log = shape.files.keys().rfind(|name| name.starts_with("log.")).unwrap().clone();
    for (name, bytes) in &shape.files {
        let text = Text::of(name, bytes, &last_log);
        let mut changed = |class, what: String, bytes: Vec<u8>, cuts_end: bool| {
            let mut files = shape.files.clone();
            files.insert(name.clone(), bytes);
            let what = format!("{name}, {what}");
            found(Damage { class, what, files, cuts_end, file_level: false });
        };
        in_bytes(&text, &mut changed);
        in_lines(&text, &mut changed);
        in_whole(shape, &text, &mut changed);
    }
    of_files(shape, &last_log, found);
}

type Changed<'a> = &'a mut dyn FnMut(&'static str, String, Vec<u8>, bool);

/// Bits and cuts at each class of bytes.
fn in_bytes(text: &Text<'_>, changed: Changed<'_>) {
    for line in text.chosen() {
        for (class, at) in text.classes(line) {
            let mut bytes = text.bytes.to_vec();
            bytes[at] ^= 1 << (at % 8);
            changed("flip a bit", format!("line {line}, {class}"), bytes, false);
            let cut = text.bytes[..at].to_vec();
            changed("cut off in a line", format!("line {line}, {class}"), cut, text.is_last_log);
            if !["space", "body", "newline"].contains(&class) {
                continue;
            }
            let zeros = [&text.bytes[..at], &vec![0; text.bytes.len() - at]].concat();
            changed("zeros from a byte to the end", format!("line {line}, {class}"), zeros, text.is_last_log);
            let mut missing = text.bytes.to_vec();
            missing.remove(at);
            // The last newline is the only byte whose loss is the same as a file that ends early.
            let is_end = at + 1 == text.bytes.len();
            changed("drop a byte", format!("line {line}, {class}"), missing, text.is_last_log && is_end);
        }
        let cut = text.bytes[..text.line(line).start].to_vec();
        changed("cut off between lines", format!("before line {line}"), cut, text.is_last_log);
    }
}

/// Whole lines.
fn in_lines(text: &Text<'_>, changed: Changed<'_>) {
    let bytes = text.bytes;
    let last = text.lines() - 1;
    for line in text.chosen() {
        let range = text.line(line);
        let (before, of, after) = (&bytes[..range.start], &bytes[range.clone()], &bytes[range.end..]);
        let what = format!("line {line}");
        let dropped = if line == last { "drop the last line" } else { "drop a line before the end" };
        changed(dropped, what.clone(), [before, after].concat(), text.is_last_log && line == last);
        changed("repeat a line", what.clone(), [before, of, of, after].concat(), false);
        let zeros = vec![0; of.len()];
        // A hole in the last group is what a crash before its sync leaves.
        let torn = text.is_last_log && line >= text.last_group();
        changed("zeros for a line", what.clone(), [before, &zeros, after].concat(), torn);
        changed("an empty line", what.clone(), [before, b"\n", of, after].concat(), false);
        changed("text before a line", what.clone(), [before, b"moon\n", of, after].concat(), false);
        if line < last {
            let next = &bytes[text.line(line + 1)];
            let rest = &bytes[text.line(line + 1).end..];
            changed("swap two lines", what.clone(), [before, next, of, rest].concat(), false);
            changed("a line for the next one", what, [before, of, of, rest].concat(), false);
        }
    }
}

/// The file as a whole.
fn in_whole(shape: &Shape, text: &Text<'_>, changed: Changed<'_>) {
    let bytes = text.bytes;
    changed("empty a file", String::new(), Vec::new(), false);
    for (what, more) in [
        ("4096 zeros", vec![0; 4096]),
        ("a zero", vec![0]),
        ("text", b"moon\n".to_vec()),
        ("half a line", b"0123abcd 4".to_vec()),
    ] {
        changed("longer at its end", what.to_owned(), [bytes, &more].concat(), false);
    }
    changed("twice in a row", String::new(), [bytes, bytes].concat(), false);
    for (number, older) in shape.older.get(text.name).into_iter().flatten().enumerate() {
        if older != bytes {
            changed("an older copy of a file", format!("copy {number}"), older.clone(), text.is_last_log);
        }
    }
    if let Some(fork) = shape.fork.get(text.name).filter(|fork| *fork != bytes) {
        let class = if text.is_last_log { ANOTHER_END } else { "a file of another history" };
        changed(class, String::new(), fork.clone(), false);
    }
}

/// Files taken away, renamed and exchanged.
fn of_files(shape: &Shape, last_log: &str, found: &mut dyn FnMut(Damage)) {
    let all: Vec<_> = shape.files.keys().cloned().collect();
    let mut changed = |class, what: String, cuts_end, change: &mut dyn FnMut(&mut Files)| {
        let mut files = shape.files.clone();
        change(&mut files);
        found(Damage { class, what, files, cuts_end, file_level: true });
    };
    for name in &all {
        let is_last = name == last_log;
        changed("remove a file", name.clone(), is_last, &mut |files| _ = files.remove(name));
        let mut rename = |class, to: String, cuts_end| {
            changed(class, format!("{name} to {to}"), cuts_end, &mut |files| {
                let bytes = files.remove(name).unwrap();
                files.insert(to.clone(), bytes);
            });
        };
        rename("rename a file to no name of ours", format!("{name}.bak"), is_last);
        rename("rename a file to a draft", format!("{name}.tmp"), is_last);
        let number: u64 = name.rsplit('.').next().unwrap().parse().unwrap();
        for number in number - 1..=number + 2 {
            for to in [names::log(number), names::snapshot(number)] {
                if to != *name {
                    // It may replace the last segment, which is as if that was removed.
                    rename("rename a file to another of ours", to.clone(), is_last || to == last_log);
                }
            }
        }
        for other in all.iter().filter(|other| *other > name) {
            let ends = is_last || other == last_log;
            changed("remove two files", format!("{name} and {other}"), ends, &mut |files| {
                files.remove(name);
                files.remove(other);
            });
            changed("exchange two files", format!("{name} and {other}"), false, &mut |files| {
                let (one, two) = (files[name].clone(), files[other].clone());
                files.insert(name.clone(), two);
                files.insert(other.clone(), one);
            });
        }
    }
    changed("remove all files", String::new(), true, &mut Files::clear);
    changed("a draft beside", String::new(), false, &mut |files| {
        files.insert(format!("{last_log}.tmp"), b"half".to_vec());
    });
    changed("a quarantined file beside", String::new(), false, &mut |files| {
        files.insert(format!("quarantine.{last_log}.0"), b"half".to_vec());
    });
}
