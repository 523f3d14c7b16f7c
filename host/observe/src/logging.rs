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
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry};

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

impl TryFrom<String> for Filter {
    type Error = tracing_subscriber::filter::ParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
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

/// Starts logging for the whole process.
///
/// # Errors
/// When something else in the process has done so before.
pub fn init(format: Format, filter: Filter) -> Result<(), TryInitError> {
    let colours = std::io::stderr().is_terminal();
    let format = match format {
        Format::Auto if is_journal(std::env::var("JOURNAL_STREAM").ok().as_deref()) => Format::Journal,
        Format::Auto => Format::Text,
        chosen => chosen,
    };
    subscriber(format, filter, colours, std::io::stderr).try_init()
}

/// Lines of a format, to a writer.
fn subscriber<W>(
    format: Format,
    Filter(filter): Filter,
    colours: bool,
    writer: W,
) -> impl Subscriber + Send + Sync
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colours);
    let lines = match format {
        Format::Auto | Format::Text => lines.boxed(),
        Format::Journal => lines.with_ansi(false).event_format(journal::Journal).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    Registry::default().with(lines.with_filter(filter))
}

/// Whether standard error is the stream that systemd named in `JOURNAL_STREAM`, and has not been redirected since.
fn is_journal(stream: Option<&str>) -> bool {
    let Some((device, inode)) = stream.and_then(|stream| stream.split_once(':')) else { return false };
    let Ok(found) = std::fs::metadata("/proc/self/fd/2") else { return false };
    device.parse() == Ok(found.dev()) && inode.parse() == Ok(found.ino())
}

#[cfg(test)]
mod tests;
