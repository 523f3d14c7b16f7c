//! Reads a case file.

use std::net::IpAddr;

use tenure_sdk::Range;

use super::ExpectedOutcome;
use super::long::LongStep;
use super::step::{CaseStep, SupplyChange};

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
        let (words, here) = (first.trim(), line);
        let long = LongStep::begin(rest).map_err(|message| Malformed { line, message })?;
        let found = if let Some(long) = long {
            line += long.further_lines();
            behind = long.next;
            Some(long.step())
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
            "`{verb}` is not a step; the steps are network, add, del, thaw, supply, drain, withdraw and plan"
        )),
    }
}

fn supply(verb: &str, rest: &str) -> Result<CaseStep, String> {
    let (rest, attributes) = match rest.split_once(" with ") {
        Some((rest, list)) if verb == "supply" => {
            (rest, list.split(',').map(pair).collect::<Result<_, _>>()?)
        }
        _ => (rest, Vec::new()),
    };
    let words: Vec<_> = rest.split_whitespace().collect();
    let (pool, change) =
        match (verb, words.as_slice()) {
            ("supply", [pool, ends, "in", subnet]) => {
                let wrong = || format!("`{ends}` is not FIRST-LAST");
                let (first, last) = ends.split_once('-').ok_or_else(wrong)?;
                let subnet = subnet.parse().map_err(|_| format!("`{subnet}` is not a subnet"))?;
                let range = Range::new(subnet, address(first)?, address(last)?);
                (pool, SupplyChange::Add(Range { attributes: attributes.into_iter().collect(), ..range }))
            }
            ("drain", [pool, ends]) => (pool, SupplyChange::Drain((*ends).to_owned())),
            ("withdraw", [pool, ends]) => (pool, SupplyChange::Withdraw((*ends).to_owned())),
            ("supply", _) => return Err(
                "expected `supply POOL FIRST-LAST in SUBNET`, and `with NAME=VALUE, ...` for its attributes"
                    .to_owned(),
            ),
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
