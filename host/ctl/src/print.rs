//! Writing to the standard streams in the chosen output format. A reader that closes the pipe early, such as `head`, is not
//! an error.

use std::borrow::Cow;
use std::io::{self, BufWriter, Stdout, Write};

use tenure_checkpoint::LogItem;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode, printable};

use crate::arguments::Output;
use crate::clock::now_ms;
use crate::report::Report;
use crate::{json, render};

/// The number of bytes of a list to buffer before printing.
const PIECE: usize = 64 << 10;

/// Prints text to standard output; `false` if the reader has closed the pipe.
pub(crate) fn text(text: &str) -> Result<bool, Error> {
    let mut out = io::stdout().lock();
    read_on(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What may be printed: every format passes through here, so that nothing from outside can deceive a reader. JSON keeps its values.
fn harmless(text: &str, output: Output) -> Cow<'_, str> {
    match output {
        Output::Table => printable::lines(text),
        Output::Json => printable::json(text),
    }
}

/// Prints a report.
pub(crate) fn report(report: &Report, output: Output) -> Result<(), Error> {
    if let Report::Raw(bytes) = report {
        let mut out = io::stdout().lock();
        return read_on(out.write_all(bytes).and_then(|()| out.flush())).map(drop);
    }
    match output {
        Output::Table => text(&harmless(&render::report(report, now_ms()), output)),
        Output::Json => text(&harmless(&format!("{}\n", json::report(report)), output)),
    }
    .map(drop)
}

/// Prints an error to standard error.
pub(crate) fn error(error: &Error, output: Output) {
    let text = match output {
        Output::Table => render::error(error),
        Output::Json => format!("{}\n", json::error(error)),
    };
    // A failure to write to standard error cannot be reported anywhere.
    let _ = io::stderr().write_all(harmless(&text, output).as_bytes());
}

/// Prints allocations as they arrive, and buffers at most one piece.
pub(crate) struct Allocations {
    form: Form,
    text: String,
}

enum Form {
    Table(render::Allocations),
    Json(json::Allocations),
}

impl Allocations {
    /// A list of one network's allocations, or of all networks' if the name is empty.
    pub(crate) fn new(network: &str, output: Output) -> Self {
        let form = match output {
            Output::Table => Form::Table(render::Allocations::new(network, now_ms())),
            Output::Json => Form::Json(json::Allocations::default()),
        };
        Self { form, text: String::new() }
    }

    /// Prints the next allocation, or the end of the list; `false` if the reader has closed the pipe.
    pub(crate) fn print(&mut self, next: Option<&v1::Allocation>) -> Result<bool, Error> {
        match (&mut self.form, next) {
            (Form::Table(table), Some(allocation)) => table.add(allocation, &mut self.text),
            (Form::Json(list), Some(allocation)) => list.add(allocation, &mut self.text),
            (Form::Table(table), None) => table.end(&mut self.text),
            (Form::Json(list), None) => list.end(&mut self.text),
        }
        if next.is_some() && self.text.len() < PIECE {
            return Ok(true);
        }
        let output = if matches!(self.form, Form::Json(_)) { Output::Json } else { Output::Table };
        let goes_on = text(&harmless(&self.text, output))?;
        self.text.clear();
        Ok(goes_on)
    }
}

/// Prints the log's items as they are read.
pub(crate) struct Log {
    lines: render::LogLines,
    output: Output,
    out: BufWriter<Stdout>,
}

impl Log {
    /// A log, before its first item.
    pub(crate) fn new(output: Output) -> Self {
        Self { lines: render::LogLines::default(), output, out: BufWriter::new(io::stdout()) }
    }

    /// Prints the next item, or flushes if there is none for now; `false` if the reader has closed the pipe.
    pub(crate) fn print(&mut self, next: Option<&LogItem>) -> Result<bool, Error> {
        read_on(match (next, self.output) {
            (Some(item), Output::Table) => {
                self.out.write_all(harmless(&self.lines.text(item), self.output).as_bytes())
            }
            (Some(item), Output::Json) => {
                self.out.write_all(harmless(&self.lines.json(item), self.output).as_bytes())
            }
            (None, _) => self.out.flush(),
        })
    }
}

/// Whether the reader still reads.
fn read_on(written: io::Result<()>) -> Result<bool, Error> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::new(ErrorCode::InputOutput, format_args!("standard output: {error}"))),
        Ok(()) => Ok(true),
    }
}
