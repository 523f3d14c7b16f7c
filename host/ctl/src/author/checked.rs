//! The page of `policy check`.

use serde::{Serialize, Serializer};
use serde_json::json;
use tenure_types::Error;

use super::check::{Checked, Trial};
use crate::render::{Page, Shown, bytes, clean, counted};

impl Shown for Checked {
    fn page(&self, _: u64) -> Page {
        let Self { file, bytes: size, sha256, contents, trial, conformance } = self;
        let conformance = conformance.as_ref().map_or_else(
            || "-".to_owned(),
            |suite| {
                let count = u64::try_from(suite.passed.len()).unwrap_or(u64::MAX);
                let passed = format!("{} passed", counted(count, "check", "checks"));
                match (&suite.failure, &suite.skipped) {
                    (Some(why), _) => format!("FAILED: {}", clean(why)),
                    (None, Some(why)) => format!("{passed}; {}", clean(why)),
                    (None, None) => passed,
                }
            },
        );
        let list = |names: &[String]| match names {
            [] => "-".to_owned(),
            names => names.iter().map(|name| clean(name)).collect::<Vec<_>>().join("\n"),
        };
        let initial = format!("{} in {}", bytes(contents.initial_memory), memories(contents.memories));
        let (memory, verdict) = match trial {
            Trial::Served { memory } => (format!("{memory} MiB"), "served a pod".to_owned()),
            Trial::Unsupplied { memory } => {
                (format!("{memory} MiB"), "defined a network, whose addresses a node supplies".to_owned())
            }
            Trial::Refused { memory, why } => {
                (format!("{memory} MiB"), format!("REFUSED: {}", clean(&why.cause)))
            }
            Trial::Failed(why) => ("-".to_owned(), format!("UNUSABLE: {}", clean(&why.cause))),
        };
        let worlds = contents.worlds();
        let head = clean(&file.display().to_string());
        let rows = [
            ("COMPONENT", head),
            ("sha256", sha256.clone()),
            ("size", format!("{} ({size} bytes)", bytes(u64::try_from(*size).unwrap_or(u64::MAX)))),
            (
                "interface",
                contents
                    .version()
                    .map_or_else(|| "-".to_owned(), |version| format!("tenure:ipam@{}", clean(version))),
            ),
            ("worlds", if worlds.is_empty() { "-".to_owned() } else { worlds.join(", ") }),
            ("imports", list(&contents.imports)),
            ("exports", list(&contents.exports)),
            ("memory at the start", initial),
            ("memory tier", memory),
            ("trial", verdict),
            ("conformance", conformance),
        ];
        Page::default().list(&rows)
    }

    fn is_well(&self) -> bool {
        self.is_usable()
    }
}

fn memories(count: u32) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") }
}

impl Serialize for Checked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let why = |error: &Error| json!({ "code": error.code.name(), "cause": error.cause });
        let (verdict, memory, reason) = match &self.trial {
            Trial::Served { memory } => ("served", Some(memory), None),
            Trial::Unsupplied { memory } => ("unsupplied", Some(memory), None),
            Trial::Refused { memory, why: error } => ("refused", Some(memory), Some(why(error))),
            Trial::Failed(error) => ("failed", None, Some(why(error))),
        };
        json!({
            "file": self.file,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "interface_version": self.contents.version(),
            "worlds": self.contents.worlds(),
            "imports": self.contents.imports,
            "exports": self.contents.exports,
            "memories": self.contents.memories,
            "initial_memory_bytes": self.contents.initial_memory,
            "memory_tier_mib": memory,
            "trial": verdict,
            "reason": reason,
            "conformance": self.conformance.as_ref().map(|suite| json!({
                "passed": suite.passed,
                "failure": suite.failure,
                "skipped": suite.skipped,
            })),
        })
        .serialize(serializer)
    }
}
