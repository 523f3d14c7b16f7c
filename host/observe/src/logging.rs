//! The daemon's log: its destination and its formats.
//!
//! The log goes to standard error. A terminal gets colours and times, the journal gets lines with its own priority
//! marks and without times, and a log collector gets JSON.

mod harmless;
mod journal;

use std::fmt;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;

use self::harmless::{Escaping, Harmless};
use serde::{Deserialize, Serialize};
use tenure_types::printable;
use tracing::Subscriber;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{FormatFields, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, reload};

/// The format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// [`JournalFormat`](Self::Journal) if standard error goes to the journal, [`Text`](Self::Text) otherwise.
    #[default]
    Auto,
    /// For people; coloured on a terminal.
    Text,
    /// For systemd's journal: begins with `<priority>`, without a time.
    Journal,
    /// One JSON object per line.
    Json,
}

/// The lines to log, as `LEVEL` or `TARGET=LEVEL`, separated by commas: `info,tenure_policy=debug`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Filter(Targets);

impl Default for Filter {
    fn default() -> Self {
        Self(Targets::new().with_default(tracing::Level::INFO))
    }
}

/// The parts of the daemon that a filter may name: each crate of it that logs, at least. The chart has the same list.
const PARTS: [&str; 16] = [
    "tenured",
    "tenure_aws",
    "tenure_checkpoint",
    "tenure_cluster",
    "tenure_conditions",
    "tenure_delegate",
    "tenure_effects",
    "tenure_engine",
    "tenure_ledger",
    "tenure_observe",
    "tenure_policy",
    "tenure_rpc",
    "tenure_runtime",
    "tenure_spool",
    "tenure_supervise",
    "tenure_types",
];

/// Why a filter is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The parser would take a word that is not a level for a part, and silence everything else.
    #[error("unknown level {0:?}; the levels are off, error, warn, info, debug and trace")]
    Level(String),
    /// A part that does not exist would never match.
    #[error("unknown part {0:?}; the parts are {parts}", parts = PARTS.join(", "))]
    Part(String),
    /// The filter is empty.
    #[error("it is empty; use off to disable logging")]
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

/// Returns a directive as the parser expects it, and refuses one that would name something that never logs.
fn check(directive: &str) -> Result<String, FilterError> {
    let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
    let directive = directive.trim();
    let Some((part, level)) = directive.split_once('=') else {
        // A part without a level stands for all its levels. The beginning of its name is enough.
        let is_part = is_known(directive);
        return (is_level(directive) || is_part)
            .then(|| directive.to_owned())
            .ok_or_else(|| FilterError::Level(directive.to_owned()));
    };
    let (part, level) = (part.trim(), level.trim());
    if !is_level(level) {
        return Err(FilterError::Level(level.to_owned()));
    }
    // Libraries log under their own names.
    if part.is_empty() || (part.starts_with("tenure") && !is_known(part)) {
        return Err(FilterError::Part(part.to_owned()));
    }
    Ok(format!("{part}={level}"))
}

/// Whether a module path, or a prefix of one, belongs to a part.
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

/// Changes the filter while the process runs.
#[derive(Debug, Clone)]
pub struct Control(reload::Handle<Targets, Registry>);

impl Control {
    /// Sets the filter.
    pub fn set(&self, Filter(filter): Filter) {
        // Fails only if logging was never started, or a test has replaced it.
        if let Err(error) = self.0.reload(filter) {
            tracing::warn!(%error, "cannot change the log level");
        }
    }
}

/// Starts logging for the whole process.
///
/// # Errors
/// If something else in the process has started logging before.
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

/// A subscriber that writes lines of a format to a writer.
fn subscriber<W>(
    format: Format,
    Filter(filter): Filter,
    colours: bool,
    writer: W,
) -> (impl Subscriber + Send + Sync, Control)
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let escaping = match format {
        Format::Json => Escaping::Json,
        Format::Auto | Format::Text if colours => Escaping::Coloured,
        Format::Auto | Format::Text | Format::Journal => Escaping::Text,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Harmless { writers: writer, escaping })
        .with_ansi(colours);
    let lines = match format {
        Format::Auto | Format::Text => lines.fmt_fields(fields()).boxed(),
        Format::Journal => lines.with_ansi(false).event_format(journal::JournalFormat).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    let (filter, handle) = reload::Layer::new(filter);
    (Registry::default().with(lines.with_filter(filter)), Control(handle))
}

/// Writes an event's fields. Beside colours, the last door cannot tell an escape of a value from one of the formatter, so values
/// are escaped here.
fn fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    debug_fn(|writer, field, value| {
        let text = format!("{value:?}");
        let text = printable::line(&text);
        match field.name() {
            "message" => write!(writer, "{text}"),
            name => write!(writer, "{name}={text}"),
        }
    })
    .delimited(" ")
}

/// Whether standard error is the stream that systemd named in `JOURNAL_STREAM`, and has not been redirected since.
fn is_journal(stream: Option<&str>) -> bool {
    let Some((device, inode)) = stream.and_then(|stream| stream.split_once(':')) else { return false };
    let Ok(found) = std::fs::metadata("/proc/self/fd/2") else { return false };
    device.parse() == Ok(found.dev()) && inode.parse() == Ok(found.ino())
}

#[cfg(test)]
mod tests;
