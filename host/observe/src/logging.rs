//! Where the daemon's log goes and what its lines look like.
//!
//! The log goes to standard error. A person at a terminal gets colours and times, the journal gets lines with its
//! own priority marks and no second time stamp, and a log collector gets JSON.

mod journal;

use std::fmt;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, reload};

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// [`Journal`](Self::Journal) when standard error is the journal's, [`Text`](Self::Text) otherwise.
    #[default]
    Auto,
    /// For people; coloured on a terminal.
    Text,
    /// For systemd's journal: `<priority>` first, no time.
    Journal,
    /// One JSON object for each line.
    Json,
}

/// What is written, as `LEVEL` or `TARGET=LEVEL`, separated by commas: `info,tenure_policy=debug`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Filter(Targets);

impl Default for Filter {
    fn default() -> Self {
        Self(Targets::new().with_default(tracing::Level::INFO))
    }
}

/// The parts of the daemon that a filter may name.
const PARTS: [&str; 10] = [
    "tenured",
    "tenure_checkpoint",
    "tenure_engine",
    "tenure_ledger",
    "tenure_observe",
    "tenure_policy",
    "tenure_rpc",
    "tenure_runtime",
    "tenure_spool",
    "tenure_types",
];

/// Why a filter is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A word that is no level would be taken for a part, and everything else would be silent.
    #[error("there is no level {0:?}; the levels are off, error, warn, info, debug and trace")]
    Level(String),
    /// A part that is not ours would never be heard of.
    #[error("there is no part {0:?}; the parts are {parts}", parts = PARTS.join(", "))]
    Part(String),
    /// It says nothing at all.
    #[error("it is empty; to write nothing, say off")]
    Empty,
}

impl TryFrom<String> for Filter {
    type Error = FilterError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() {
            return Err(FilterError::Empty);
        }
        // The parser would take a blank for a part of a name.
        let directives: Vec<String> = text.split(',').map(check).collect::<Result<_, _>>()?;
        directives.join(",").parse().map(Self).map_err(|_| FilterError::Level(text))
    }
}

/// Gives a directive back as the parser wants it, and refuses what it would take for the name of something that never says a word.
fn check(directive: &str) -> Result<String, FilterError> {
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    let directive = directive.trim();
    let Some((part, level)) = directive.split_once('=') else {
        // A part alone is meant as a whole; it is known by the beginning of its name.
        let is_part = is_known(directive);
        return (is_level(directive) || is_part)
            .then(|| directive.to_owned())
            .ok_or_else(|| FilterError::Level(directive.to_owned()));
    };
    let (part, level) = (part.trim(), level.trim());
    if !is_level(level) {
        return Err(FilterError::Level(level.to_owned()));
    }
    // Libraries have names of their own.
    if part.is_empty() || (part.starts_with("tenure") && !is_known(part)) {
        return Err(FilterError::Part(part.to_owned()));
    }
    Ok(format!("{part}={level}"))
}

/// Whether a module's path, or the beginning of one, is that of a part.
fn is_known(path: &str) -> bool {
    let (name, _) = path.split_once("::").unwrap_or((path, ""));
    !name.is_empty() && PARTS.iter().any(|known| known.starts_with(name))
}

impl From<Filter> for String {
    fn from(filter: Filter) -> Self {
        filter.to_string()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Changes what is written while the process runs.
#[derive(Debug, Clone)]
pub struct Control(reload::Handle<Targets, Registry>);

impl Control {
    /// Writes what this filter lets through from now on.
    pub fn set(&self, Filter(filter): Filter) {
        // Fails only when logging was never started, or was replaced by a test's own.
        if let Err(error) = self.0.reload(filter) {
            tracing::warn!(%error, "the log level stays as it is");
        }
    }
}

/// Starts logging for the whole process.
///
/// # Errors
/// When something else in the process has done so before.
pub fn init(format: Format, filter: Filter) -> Result<Control, TryInitError> {
    let colours = std::io::stderr().is_terminal();
    let format = match format {
        Format::Auto if is_journal(std::env::var("JOURNAL_STREAM").ok().as_deref()) => Format::Journal,
        Format::Auto => Format::Text,
        chosen => chosen,
    };
    let (subscriber, control) = subscriber(format, filter, colours, std::io::stderr);
    subscriber.try_init().map(|()| control)
}

/// Lines of a format, to a writer.
fn subscriber<W>(
    format: Format,
    Filter(filter): Filter,
    colours: bool,
    writer: W,
) -> (impl Subscriber + Send + Sync, Control)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colours);
    let lines = match format {
        Format::Auto | Format::Text => lines.boxed(),
        Format::Journal => lines.with_ansi(false).event_format(journal::Journal).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let (filter, handle) = reload::Layer::new(filter);
    (Registry::default().with(lines.with_filter(filter)), Control(handle))
}

/// Whether standard error is the stream that systemd named in `JOURNAL_STREAM`, and has not been redirected since.
fn is_journal(stream: Option<&str>) -> bool {
    let Some((device, inode)) = stream.and_then(|stream| stream.split_once(':')) else { return false };
    let Ok(found) = std::fs::metadata("/proc/self/fd/2") else { return false };
    device.parse() == Ok(found.dev()) && inode.parse() == Ok(found.ino())
}

#[cfg(test)]
mod tests;
