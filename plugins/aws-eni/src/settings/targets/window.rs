//! A window of the week, in UTC: from one minute of a day to another, on some days or on all.
//!
//! A window that ends before it begins crosses midnight, and belongs to the day on which it begins.

use tenure_sdk::{ConfigError, Node};

use crate::present::{DAYS, WeekTime};

/// The minutes of a day.
const DAY: u16 = 24 * 60;

/// A window of the week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// Whether it begins on a day, from Monday on.
    days: [bool; 7],
    /// The first minute.
    from: u16,
    /// The first minute that is not in it; at most `from` if it crosses midnight.
    to: u16,
    /// As it was written.
    words: String,
}

impl Window {
    /// Reads `days` and `time`; nothing if there is neither.
    ///
    /// # Errors
    /// For what cannot be read, and for a window without a minute.
    pub(super) fn read(days: Option<&Node>, time: Option<&Node>) -> Result<Option<Self>, ConfigError> {
        if days.is_none() && time.is_none() {
            return Ok(None);
        }
        let (on, day_words) = days.map(days_of).transpose()?.unwrap_or(([true; 7], String::new()));
        let (from, to) = time.map(minutes_of).transpose()?.unwrap_or((0, DAY));
        let time_words = time.map(Node::text).transpose()?;
        let words: Vec<&str> = [day_words.as_str(), time_words.unwrap_or_default(), "UTC"]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        Ok(Some(Self { days: on, from, to, words: words.join(" ") }))
    }

    /// Whether a minute is in it.
    pub(super) fn has(&self, time: WeekTime) -> bool {
        let begins_on = |day: usize| self.days.get(day).copied().unwrap_or_default();
        let (today, yesterday) = (begins_on(time.day), begins_on((time.day + 6) % 7));
        match self.from < self.to {
            true => today && (self.from..self.to).contains(&time.minute),
            false => today && time.minute >= self.from || yesterday && time.minute < self.to,
        }
    }

    /// For people, such as `mon-fri 08:00-18:00 UTC`.
    pub(super) fn words(&self) -> String {
        self.words.clone()
    }
}

/// The days of a list such as `["mon-wed", "sat"]`, and the list for people.
fn days_of(list: &Node) -> Result<([bool; 7], String), ConfigError> {
    let (mut days, mut words) = ([false; 7], Vec::new());
    for item in list.items()? {
        let text = item.text()?;
        let day = |name: &str| DAYS.iter().position(|day| *day == name);
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Some(first), Some(last)) = (day(first), day(last)) else {
            let message = format!("{text:?} is not a day such as \"mon\", or several such as \"mon-fri\"");
            return Err(item.wrong(message));
        };
        let length = (last + 7 - first) % 7;
        for (day, begins) in days.iter_mut().enumerate() {
            *begins |= (day + 7 - first) % 7 <= length;
        }
        words.push(text.to_owned());
    }
    match words.is_empty() {
        true => Err(list.wrong("must name at least one day")),
        false => Ok((days, words.join(" "))),
    }
}

/// The minutes of a text such as `08:00-18:00`.
fn minutes_of(node: &Node) -> Result<(u16, u16), ConfigError> {
    let text = node.text()?;
    let ends = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
    match ends {
        Some((from, to)) if from == to => {
            Err(node.wrong(format!("{text:?} is empty: it ends when it begins")))
        }
        Some((from, to)) if from < DAY => Ok((from, to)),
        _ => Err(node.wrong(format!("{text:?} is not a time of day such as \"08:00-18:00\""))),
    }
}

/// The minute of a text such as `08:00`, up to `24:00`.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { digits.parse::<u16>().ok() } else { None }
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= DAY).then_some(at)
}
