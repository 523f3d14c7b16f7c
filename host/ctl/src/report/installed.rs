//! The answers of the verbs about the files of a node.

use std::path::PathBuf;

use serde::Serialize;

/// The result of an installation or a removal, or of its dry run.
#[derive(Serialize)]
pub(crate) struct InstallReport {
    /// Whether changes were made, as opposed to a dry run.
    pub(crate) applied: bool,
    /// Each file with its outcome, in order.
    pub(crate) files: Vec<FileChange>,
    /// Facts that the operator should know, and that change nothing.
    pub(crate) notes: Vec<String>,
}

/// A file of the node, and what became of it or would.
#[derive(Serialize)]
pub(crate) struct FileChange {
    pub(crate) file: PathBuf,
    pub(crate) kind: InstalledKind,
    pub(crate) outcome: FileOutcome,
    /// The plugin's version; empty for other files, and if it is not known.
    pub(crate) version: String,
    /// The digest of the file that was or would be installed or removed.
    pub(crate) sha256: String,
    /// Why a file was left.
    pub(crate) reason: String,
}

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InstalledKind {
    Plugin,
    /// A plugin that was installed before, and is kept for a rollback.
    KeptPlugin,
    /// A link that leads to the plugin.
    Link,
    Configuration,
}

/// The outcome for a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileOutcome {
    Created,
    Replaced,
    Unchanged,
    Removed,
    /// There was nothing to remove.
    Absent,
    /// Kept on request.
    Kept,
    /// Not removed, because somebody has changed it since.
    Left,
}

/// The findings of a doctor on a node.
#[derive(Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) checks: Vec<NodeCheck>,
}

/// One thing that tenure needs of a node.
#[derive(Debug, Serialize)]
pub(crate) struct NodeCheck {
    pub(crate) name: &'static str,
    pub(crate) verdict: CheckVerdict,
    pub(crate) found: String,
    /// The next step; empty if all is well.
    pub(crate) next_step: String,
}

/// Whether a node has what it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckVerdict {
    Fine,
    /// Works, with a drawback.
    Warning,
    /// Pods fail or will, or state may be lost.
    Problem,
    /// Cannot be checked, or does not concern this node.
    Skipped,
}

impl NodeCheck {
    /// A check that found nothing wrong.
    pub(crate) fn fine(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, verdict: CheckVerdict::Fine, found: found.into(), next_step: String::new() }
    }

    /// A check that found a drawback.
    pub(crate) fn warning(
        name: &'static str,
        found: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self { name, verdict: CheckVerdict::Warning, found: found.into(), next_step: next_step.into() }
    }

    /// A check that found a problem.
    pub(crate) fn problem(
        name: &'static str,
        found: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self { name, verdict: CheckVerdict::Problem, found: found.into(), next_step: next_step.into() }
    }

    /// A check that was not made, and why.
    pub(crate) fn skipped(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, verdict: CheckVerdict::Skipped, found: why.into(), next_step: String::new() }
    }
}
