//! The order in which the metadata service is asked what has changed: one request at a time, so that a node at rest makes few.
//!
//! ```text
//! the list of interfaces ─▶ a field of the first ─▶ the list ─▶ the next field ─▶ the list ─▶ .. ─▶ the first again
//! ```
//!
//! Every second request is the list, because interfaces come and go more often than anybody else changes their addresses. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::imds::{CARRIED, MACS};

/// The requests, and what the service answered last.
#[derive(Debug, Default)]
pub struct HintRound {
    macs: Option<BTreeSet<String>>,
    fields: BTreeMap<String, BTreeSet<String>>,
    /// The number of requests that were answered.
    asked: usize,
}

impl HintRound {
    /// The path of the next request.
    #[must_use]
    pub fn path(&self) -> String {
        self.field().unwrap_or_else(|| MACS.to_owned())
    }

    /// Takes in the lines of the answer to it; returns whether that is other than before.
    pub fn heard(&mut self, lines: BTreeSet<String>) -> bool {
        let field = self.field();
        self.asked = self.asked.wrapping_add(1);
        match field {
            Some(path) => {
                let changed = self.fields.get(&path).is_some_and(|before| *before != lines);
                self.fields.insert(path, lines);
                changed
            }
            None => {
                self.fields
                    .retain(|path, _| lines.iter().any(|mac| path.contains(mac.trim_end_matches('/'))));
                let changed = self.macs.as_ref().is_some_and(|before| *before != lines);
                self.macs = Some(lines);
                changed
            }
        }
    }

    /// The path of the field whose turn it is; `None` for the list.
    fn field(&self) -> Option<String> {
        let macs = self.macs.as_ref().filter(|macs| !macs.is_empty() && self.asked % 2 == 1)?;
        let number = self.asked / 2 % (macs.len() * CARRIED.len());
        let mac = macs.iter().nth(number / CARRIED.len())?.trim_end_matches('/');
        let field = CARRIED.get(number % CARRIED.len())?;
        Some(format!("{MACS}{mac}/{field}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn each_field_has_its_turn_and_every_second_request_is_the_list() {
        let (mut round, mut paths) = (HintRound::default(), Vec::new());
        for _ in 0..16 {
            let path = round.path();
            let answer = if path == MACS { lines(&["02:01/", "02:02/"]) } else { lines(&["10.0.0.5"]) };
            assert!(!round.heard(answer), "{path}");
            paths.push(path);
        }
        assert!(paths.iter().step_by(2).all(|path| path == MACS), "{paths:?}");
        let fields: BTreeSet<&String> = paths.iter().skip(1).step_by(2).collect();
        assert_eq!(fields.len(), 8, "{fields:?}");
        assert!(fields.contains(&format!("{MACS}02:02/ipv4-prefix")));
    }

    #[test]
    fn only_a_difference_is_news() {
        let mut round = HintRound::default();
        assert!(!round.heard(lines(&["02:01/"])));
        let path = round.path();
        assert!(path.starts_with(&format!("{MACS}02:01/")) && !round.heard(lines(&["10.0.0.5"])));
        assert!(round.heard(lines(&["02:01/", "02:02/"])), "an interface has come");
        let mut news = 0;
        for _ in 0..32 {
            let answer =
                if round.path() == MACS { lines(&["02:01/", "02:02/"]) } else { lines(&["10.0.0.6"]) };
            news += usize::from(round.heard(answer));
        }
        assert_eq!(news, 1, "of all fields, one has changed since");
    }
}
