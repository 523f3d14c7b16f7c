//! Reads a case file.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::de::IgnoredAny;
use tenure_sdk::Range;

use super::ExpectedOutcome;

/// A case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The case's path.
    pub path: PathBuf,
    /// The case's steps, each with its line.
    pub steps: Vec<(usize, CaseStep)>,
}

/// A step of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseStep {
    /// Defines the network.
    Network {
        /// The `ipam` object.
        ipam: String,
        /// Why it must be refused; without it, it must be accepted.
        refused: Option<ExpectedOutcome>,
    },
    /// Adds an owner.
    Add {
        /// The owner.
        owner: String,
        /// Labels and annotations that the policy is granted to see, such as `pod.label.app`, with their values.
        metadata: Vec<(String, String)>,
        /// The addresses that it requests.
        requested: Vec<IpAddr>,
        /// The outcome that the step must have.
        outcome: ExpectedOutcome,
    },
    /// Deletes an owner, which must hold something.
    Del {
        /// The owner.
        owner: String,
    },
    /// Ends the cooling of all addresses.
    Thaw,
    /// Changes the ranges of a pool that the host supplies.
    Supply {
        /// The pool's name.
        pool: String,
        /// The change.
        change: SupplyChange,
    },
}

/// A change of a pool's ranges, as the host makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupplyChange {
    /// Adds the range.
    Add(Range),
    /// The range of this name, its ends, hands out nothing more.
    Drain(String),
    /// Removes the range of this name, its ends.
    Withdraw(String),
}

/// A line that is not a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line, from 1.
    pub line: usize,
    /// The error in the line.
    pub message: String,
}

/// Reads the text of a case file.
///
/// ```
/// use tenure_testkit::cases::{CaseStep, ExpectedOutcome, parse};
///
/// let steps = parse("network { }\nadd shop/web-0 -> any")?;
/// let CaseStep::Add { owner, outcome, .. } = &steps[1].1 else { panic!("not an ADD") };
/// assert_eq!((owner.as_str(), outcome), ("shop/web-0", &ExpectedOutcome::Any));
/// assert_eq!(parse("\nadd shop/web-0").unwrap_err().line, 2);
/// # Ok::<(), tenure_testkit::cases::Malformed>(())
/// ```
///
/// # Errors
/// [`Malformed`] with the first line that is not a step.
pub fn parse(text: &str) -> Result<Vec<(usize, CaseStep)>, Malformed> {
    let mut steps = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let (first, mut behind) = rest.split_once('\n').unwrap_or((rest, ""));
        let wrong = |message: String| Malformed { line, message };
        let (mut words, here) = (first.trim(), line);
        let found = if let Some(after) = words.strip_prefix("network") {
            // The object may go on for several lines; the outcome is on its last one.
            let start = first.len() - first.trim_start().len() + "network".len();
            let json = rest.get(start..).unwrap_or(after);
            let (ipam, length) = object(json).map_err(wrong)?;
            let after = json.get(length..).unwrap_or_default();
            let (end, next) = after.split_once('\n').unwrap_or((after, ""));
            line += ipam.matches('\n').count();
            behind = next;
            words = end.trim();
            Some(network(ipam.to_owned(), words))
        } else if words.is_empty() || words.starts_with('#') {
            None
        } else {
            Some(step(words))
        };
        if let Some(found) = found {
            steps.push((here, found.map_err(|message| Malformed { line: here, message })?));
        }
        rest = behind;
        line += 1;
    }
    if steps.is_empty() {
        return Err(Malformed { line: 1, message: "the file has no steps".into() });
    }
    Ok(steps)
}

/// The JSON object at the start of a text, and the length of what was read.
fn object(text: &str) -> Result<(&str, usize), String> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let length = values.byte_offset();
            Ok((text.get(..length).unwrap_or_default().trim(), length))
        }
        Some(Err(error)) => Err(format!("after `network`: {error}")),
        None => Err("expected the ipam object after `network`".into()),
    }
}

fn network(ipam: String, outcome: &str) -> Result<CaseStep, String> {
    let refused = match outcome.strip_prefix("->") {
        Some(outcome) => Some(ExpectedOutcome::read(outcome.trim())?),
        None if outcome.is_empty() || outcome.starts_with('#') => None,
        None => return Err(format!("expected `->` or nothing after the ipam object, found `{outcome}`")),
    };
    Ok(CaseStep::Network { ipam, refused })
}

fn step(words: &str) -> Result<CaseStep, String> {
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match verb {
        "add" => {
            let (owner, outcome) =
                rest.split_once("->").ok_or("expected `-> OUTCOME` at the end of `add OWNER`")?;
            let (owner, requested) = match owner.split_once(" requesting ") {
                Some((owner, list)) => (owner, list.split(',').map(address).collect::<Result<_, _>>()?),
                None => (owner, Vec::new()),
            };
            let (owner, metadata) = match owner.split_once(" with ") {
                Some((owner, list)) => (owner, list.split(',').map(pair).collect::<Result<_, _>>()?),
                None => (owner, Vec::new()),
            };
            Ok(CaseStep::Add {
                owner: self::owner(owner)?,
                metadata,
                requested,
                outcome: ExpectedOutcome::read(outcome.trim())?,
            })
        }
        "del" => Ok(CaseStep::Del { owner: owner(rest)? }),
        "thaw" if rest.trim().is_empty() => Ok(CaseStep::Thaw),
        "supply" | "drain" | "withdraw" => supply(verb, rest),
        _ => Err(format!(
            "`{verb}` is not a step; the steps are network, add, del, thaw, supply, drain and withdraw"
        )),
    }
}

fn supply(verb: &str, rest: &str) -> Result<CaseStep, String> {
    let words: Vec<_> = rest.split_whitespace().collect();
    let (pool, change) = match (verb, words.as_slice()) {
        ("supply", [pool, ends, "in", subnet]) => {
            let wrong = || format!("`{ends}` is not FIRST-LAST");
            let (first, last) = ends.split_once('-').ok_or_else(wrong)?;
            let subnet = subnet.parse().map_err(|_| format!("`{subnet}` is not a subnet"))?;
            (pool, SupplyChange::Add(Range::new(subnet, address(first)?, address(last)?)))
        }
        ("drain", [pool, ends]) => (pool, SupplyChange::Drain((*ends).to_owned())),
        ("withdraw", [pool, ends]) => (pool, SupplyChange::Withdraw((*ends).to_owned())),
        ("supply", _) => return Err("expected `supply POOL FIRST-LAST in SUBNET`".to_owned()),
        _ => return Err(format!("expected `{verb} POOL FIRST-LAST`")),
    };
    Ok(CaseStep::Supply { pool: (*pool).to_owned(), change })
}

fn owner(text: &str) -> Result<String, String> {
    let owner = text.trim();
    let words = owner.strip_prefix("claim ").unwrap_or(owner);
    if words.is_empty() || words.contains(char::is_whitespace) {
        return Err(format!("`{owner}` is not an owner; write NAMESPACE/NAME, or claim AGENT/NAME"));
    }
    Ok(owner.to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.trim().split_once('=').ok_or_else(|| format!("`{}` is not NAME=VALUE", text.trim()))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.trim().parse().map_err(|_| format!("`{}` is not an address", text.trim()))
}
