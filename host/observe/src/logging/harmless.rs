//! The last door before the log: what comes from outside cannot break a line, move a terminal's cursor or look like other text.

use std::io::{self, Write};

use tenure_types::printable;
use tracing_subscriber::fmt::MakeWriter;

/// How a line may be escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escaping {
    /// As text.
    Text,
    /// As text that has a terminal's colours, which are the formatter's: it escapes those of others itself.
    Coloured,
    /// As JSON, whose values stay the same.
    Json,
}

/// Makes writers of lines.
#[derive(Debug, Clone)]
pub(super) struct Harmless<M> {
    pub(super) writers: M,
    pub(super) escaping: Escaping,
}

/// Writes one line, which the formatter passes in one call.
#[derive(Debug)]
pub(super) struct HarmlessLine<W> {
    writer: W,
    escaping: Escaping,
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Harmless<M> {
    type Writer = HarmlessLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        HarmlessLine { writer: self.writers.make_writer(), escaping: self.escaping }
    }
}

impl<W: Write> Write for HarmlessLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let harmless = match self.escaping {
            Escaping::Text => printable::line(line),
            Escaping::Json => printable::json(line),
            Escaping::Coloured => {
                let pieces: Vec<_> = line.split('\u{1b}').map(printable::line).collect();
                pieces.join("\u{1b}").into()
            }
        };
        let end = if text.ends_with('\n') { "\n" } else { "" };
        self.writer.write_all([&harmless, end].concat().as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
