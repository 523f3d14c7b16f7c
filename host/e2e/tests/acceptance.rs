//! The acceptance cases of the CNI IPAM contract, run with the real plugin and daemon.
//!
//! Each case of `acceptance/*.json` is a test: a sequence of calls on its own network, each with its expected answer. A case's name
//! begins with its number, or with that of the host-local defect it covers. See [`Case`] and [`Step`].

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_e2e::daemon::Shared;
use tenure_e2e::plugin::CniError;
use tenure_e2e::{Attachment, Outcome, Plugin, Suite};
use tenure_types::ErrorCode;

const CASES: [&str; 6] = [
    include_str!("acceptance/calls.json"),
    include_str!("acceptance/addresses.json"),
    include_str!("acceptance/requested.json"),
    include_str!("acceptance/configuration.json"),
    include_str!("acceptance/results.json"),
    include_str!("acceptance/verbs.json"),
];

/// The last code whose details are the reference's own, too.
const LAST_OF_REFERENCE: u32 = 10;

/// The value of `$DATA` in a case.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acceptance");

/// A sequence of calls on a network that is named after the case (`$NETWORK`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The behaviour of host-local, if it is wrong.
    why: Option<String>,
    /// Merged into a configuration with a name, version 1.0.0 and tenure as its IPAM plugin.
    #[serde(default)]
    config: Value,
    steps: Vec<Step>,
}

/// One call and its expected answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// `CNI_COMMAND`.
    call: String,
    #[serde(default = "Step::container")]
    container: String,
    #[serde(default = "Step::interface")]
    interface: String,
    /// Variables to set or remove.
    #[serde(default)]
    environment: BTreeMap<String, Option<String>>,
    /// Merged into the case's configuration; `null` removes a key.
    #[serde(default)]
    config: Value,
    /// Standard input to send instead of a configuration.
    stdin: Option<String>,
    /// The addresses of the result.
    gives: Option<Vec<String>>,
    /// The single address of each result in a series of calls, for the containers `<container>-1`, `-2` and so on.
    each: Option<Vec<String>>,
    /// The complete result.
    prints: Option<Value>,
    /// Part of the result.
    has: Option<Value>,
    /// Success, with nothing on standard output.
    #[serde(default)]
    silent: bool,
    /// The error.
    fails: Option<Expected>,
    /// Part of standard error.
    says: Option<String>,
}

/// The expected error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    code: Option<u32>,
    /// Part of its message.
    #[serde(default)]
    message: String,
    /// Part of its details, which must be present.
    details: Option<String>,
    /// The complete error as libcni shows it: `msg; details`. With tenure's own codes, it is the message, which callers compare, and
    /// the details are the rest of the error: its name, the network and the next step.
    exactly: Option<String>,
}

impl Expected {
    fn fits(&self, error: &CniError) -> bool {
        self.code.is_none_or(|code| code == error.code)
            && error.msg.contains(&self.message)
            && self.details.as_ref().is_none_or(|part| !part.is_empty() && error.details.contains(part))
            && self.exactly.as_ref().is_none_or(|text| is_exactly(text, error))
    }
}

/// Whether an error is this text as libcni shows it, or this message with the rest of an error of tenure's own.
fn is_exactly(text: &str, CniError { code, msg, details }: &CniError) -> bool {
    if *code <= LAST_OF_REFERENCE {
        return if details.is_empty() { msg == text } else { format!("{msg}; {details}") == text };
    }
    let mut of_code = ErrorCode::ALL.iter().filter(|known| known.cni() == *code);
    let is_rest = of_code.any(|code| {
        let rest = details.strip_prefix(code.name()).and_then(|rest| rest.strip_prefix(": network "));
        rest.is_some_and(|rest| rest.ends_with(code.next_step()))
    });
    msg == text && is_rest && !details.contains(text)
}

fn main() -> ExitCode {
    let shared = Shared::default();
    let mut suite = Suite::new();
    for text in CASES {
        let text = text.replace("$DATA", DATA);
        let cases: Vec<Case> = match serde_json::from_str(&text) {
            Ok(cases) => cases,
            Err(error) => {
                eprintln!("cannot read the cases: {error}");
                return ExitCode::FAILURE;
            }
        };
        for case in cases {
            let shared = shared.clone();
            suite = suite.test(case.name.clone(), &[], move || {
                let daemon = shared.get()?;
                case.run(&daemon.shim()?).map_err(|error| {
                    let why = case.why.as_deref().unwrap_or_default();
                    anyhow!("{error:#}\n{why}\n--- the daemon's log about it\n{}", daemon.log(&case.name))
                })
            });
        }
    }
    // From here on, the tests own the daemon; the last one stops it.
    drop(shared);
    suite.run()
}

impl Case {
    fn run(&self, shim: &Plugin) -> anyhow::Result<()> {
        let mut config = json!({ "cniVersion": "1.0.0", "name": "$NETWORK", "ipam": { "type": "tenure" } });
        overlay(&mut config, &self.config);
        for (index, step) in self.steps.iter().enumerate() {
            let mut config = config.clone();
            overlay(&mut config, &step.config);
            let input = step.stdin.clone().unwrap_or_else(|| config.to_string());
            let input = input.replace("$NETWORK", &self.name);
            step.run(shim, &input).with_context(|| format!("step {} ({})", index + 1, step.call))?;
        }
        Ok(())
    }
}

impl Step {
    fn container() -> String {
        "a".to_owned()
    }

    fn interface() -> String {
        "eth0".to_owned()
    }

    fn run(&self, shim: &Plugin, input: &str) -> anyhow::Result<()> {
        if let Some(each) = &self.each {
            for (number, address) in (1..).zip(each) {
                let outcome = self.call(shim, &format!("{}-{number}", self.container), input)?;
                equal(&outcome.address()?, address)?;
            }
            return Ok(());
        }
        let outcome = self.call(shim, &self.container, input)?;
        self.check(&outcome)
    }

    fn call(&self, shim: &Plugin, container: &str, input: &str) -> anyhow::Result<Outcome> {
        let mut shim = shim.clone();
        for (name, value) in &self.environment {
            shim = match value {
                Some(value) => shim.env(name, value),
                None => shim.without(name),
            };
        }
        let mut attachment = Attachment::of(container);
        attachment.interface.clone_from(&self.interface);
        shim.start(&self.call, &attachment, input.as_bytes())?.finish()
    }

    fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        if let Some(addresses) = &self.gives {
            equal(&outcome.addresses()?, addresses)?;
        } else if let Some(result) = &self.prints {
            equal(&outcome.result()?, result)?;
        } else if let Some(part) = &self.has {
            let result = outcome.result()?;
            ensure!(contains(&result, part), "expected {part} in {result}");
        } else if let Some(expected) = &self.fails {
            let error = outcome.error()?;
            ensure!(expected.fits(&error), "expected {expected:?}, got {error:?}");
        } else if self.silent {
            outcome.silent()?;
        } else {
            bail!("the step expects nothing");
        }
        if let Some(text) = &self.says {
            ensure!(outcome.stderr.contains(text.as_str()), "expected {text:?} on standard error: {outcome}");
        }
        Ok(())
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(actual: &T, expected: &T) -> anyhow::Result<()> {
    ensure!(actual == expected, "expected {expected:?}, got {actual:?}");
    Ok(())
}

/// Merges a JSON merge patch (RFC 7396) into a value.
fn overlay(base: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            base.clone_from(patch);
        }
        return;
    };
    if !base.is_object() {
        *base = json!({});
    }
    if let Value::Object(base) = base {
        for (key, value) in patch {
            if value.is_null() {
                base.remove(key);
            } else {
                overlay(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

/// Whether a value contains everything in another one.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}
