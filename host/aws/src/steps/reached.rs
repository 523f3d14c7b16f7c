//! The progress of an intent, as stored in the ledger.

use ipnet::IpNet;
use tenure_types::{Attributes, InvalidAttributes};

use crate::names;

/// The progress of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntentProgress {
    /// The interface that was created.
    pub interface: Option<String>,
    /// EC2's id of the attachment.
    pub attachment: Option<String>,
    /// Whether it is deleted when its instance ends.
    pub with_instance: bool,
    /// Whether the call was made, or is about to be, that may not be repeated blindly.
    pub asked: bool,
    /// Ranges on the interface before that.
    pub before: Vec<IpNet>,
    /// Whether the interface is off its instance.
    pub is_off: bool,
    /// Why everything is undone.
    pub why: Option<String>,
}

const ATTACHMENT: &str = "attachment";
const WITH_INSTANCE: &str = "with-instance";
const ASKED: &str = "asked";
const BEFORE: &str = "before";
const OFF: &str = "off";
const WHY: &str = "why";

/// The longest value of an attribute.
const LONGEST: usize = 512;

impl IntentProgress {
    /// Reads what the ledger has kept. What is not understood was written by a newer version, and counts as not there.
    #[must_use]
    pub fn of(attributes: &Attributes) -> Self {
        let text = |name: &str| attributes.get(name).map(str::to_owned);
        let is_set = |name: &str| attributes.get(name) == Some("true");
        let parts = attributes.iter().filter(|(name, _)| name.starts_with(BEFORE));
        let nets = parts.flat_map(|(_, part)| part.split(',')).filter_map(|net| net.parse().ok());
        Self {
            interface: text(names::INTERFACE),
            attachment: text(ATTACHMENT),
            with_instance: is_set(WITH_INSTANCE),
            asked: is_set(ASKED),
            before: nets.collect(),
            is_off: is_set(OFF),
            why: text(WHY),
        }
    }

    /// The form in which the ledger keeps it.
    ///
    /// # Errors
    /// If an interface carries more than fits, which no instance type allows.
    pub fn attributes(&self) -> Result<Attributes, InvalidAttributes> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let texts = [
            (names::INTERFACE, self.interface.as_deref()),
            (ATTACHMENT, self.attachment.as_deref()),
            (WITH_INSTANCE, self.with_instance.then_some("true")),
            (ASKED, self.asked.then_some("true")),
            (OFF, self.is_off.then_some("true")),
        ];
        let known = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.to_owned())));
        pairs.extend(known);
        if let Some(why) = &self.why {
            let plain = why.chars().filter(|character| !character.is_control() && character.is_ascii());
            pairs.push((WHY.to_owned(), plain.take(LONGEST).collect()));
        }
        let mut parts: Vec<String> = Vec::new();
        for net in &self.before {
            let net = net.to_string();
            match parts.last_mut().filter(|part| part.len() + net.len() < LONGEST) {
                Some(part) => part.extend([",", &net]),
                None => parts.push(net),
            }
        }
        pairs.extend((0..).zip(parts).map(|(index, part)| (format!("{BEFORE}.{index:02}"), part)));
        Attributes::new(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_again() {
        let nets = (0..49).map(|last| format!("10.100.200.{last}/32").parse().unwrap());
        let reached = IntentProgress {
            interface: Some("eni-1".to_owned()),
            attachment: Some("eni-attach-1".to_owned()),
            with_instance: true,
            asked: true,
            before: nets.collect(),
            is_off: true,
            why: Some("no".to_owned()),
        };
        let attributes = reached.attributes().unwrap();
        assert_eq!(attributes.iter().filter(|(name, _)| name.starts_with("before")).count(), 2);
        assert_eq!(IntentProgress::of(&attributes), reached);
        assert_eq!(IntentProgress::of(&Attributes::default()), IntentProgress::default());
    }

    #[test]
    fn a_reason_is_cut_to_what_can_be_kept() {
        let reached =
            IntentProgress { why: Some(format!("line\n{}", "x".repeat(600))), ..IntentProgress::default() };
        assert_eq!(reached.attributes().unwrap().get(WHY).map(str::len), Some(512));
    }
}
