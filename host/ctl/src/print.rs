//! Writing to the standard streams in the chosen output format. A reader that closes the pipe early, such as `head`, is not
//! an error.

use std::borrow::Cow;
use std::io::{self, BufWriter, Stdout, Write};

use clap::CommandFactory as _;
use tenure_checkpoint::LogItem;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode, printable};

use crate::arguments::CtlArguments;
use crate::clock::now_ms;
use crate::render::{self, Report, View};

/// The number of bytes of a list to buffer before printing.
const PIECE: usize = 64 << 10;

/// Prints text to standard output; `false` if the reader has closed the pipe.
pub(crate) fn text(text: &str) -> Result<bool, Error> {
    let mut out = io::stdout().lock();
    read_on(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// The chosen output format.
#[derive(Debug, Clone)]
pub(crate) enum OutputFormat {
    Table(View),
    Json,
}

impl OutputFormat {
    /// Makes text harmless: every format passes through here, so that nothing from outside can deceive a reader. JSON keeps its values.
    fn harmless<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self {
            Self::Table(_) => printable::lines(text),
            Self::Json => printable::json(text),
        }
    }
}

/// Prints a report.
pub(crate) fn report(report: &Report, format: &OutputFormat) -> Result<(), Error> {
    let answer = match report {
        Report::Raw(bytes) => {
            let mut out = io::stdout().lock();
            return read_on(out.write_all(bytes).and_then(|()| out.flush())).map(drop);
        }
        Report::Shown(answer) => answer,
    };
    let page = match format {
        OutputFormat::Table(view) => answer.page(now_ms()).print(view),
        OutputFormat::Json => Ok(format!("{}\n", answer.json()?)),
    };
    // What was done is printed also if it cannot be sorted.
    let (all, problem) = match page {
        Ok(all) => (all, None),
        Err(words) => (answer.page(now_ms()).to_string(), Some(words)),
    };
    text(&format.harmless(&all))?;
    problem.map_or(Ok(()), |words| invalid(&words))
}

/// Prints an error to standard error.
pub(crate) fn error(error: &Error, format: &OutputFormat) {
    let text = match format {
        OutputFormat::Table(_) => render::error(error),
        OutputFormat::Json => format!("{}\n", render::json_error(error)),
    };
    // A failure to write to standard error cannot be reported anywhere.
    let _ = io::stderr().write_all(format.harmless(&text).as_bytes());
}

/// Ends the program as clap does when the command line is invalid.
fn invalid(words: &str) -> ! {
    CtlArguments::command().error(clap::error::ErrorKind::ValueValidation, words).exit()
}

/// Prints allocations as they arrive, and buffers at most one piece unless they are sorted.
pub(crate) struct AllocationPrinter {
    format: OutputFormat,
    list: render::AllocationList,
    /// Whether JSON has begun.
    has_begun: bool,
    text: String,
}

impl AllocationPrinter {
    /// A list of one network's allocations, or of all networks' if the name is empty.
    pub(crate) fn new(network: &str, format: &OutputFormat) -> Self {
        let view = if let OutputFormat::Table(view) = format { view.clone() } else { View::default() };
        let list = render::AllocationList::new(network, view, now_ms());
        let list = list.unwrap_or_else(|words| invalid(&words));
        Self { format: format.clone(), list, has_begun: false, text: String::new() }
    }

    /// Prints the next allocation, or the end of the list; `false` if the reader has closed the pipe.
    pub(crate) fn print(&mut self, next: Option<v1::Allocation>) -> Result<bool, Error> {
        let is_last = next.is_none();
        match (&self.format, next) {
            (OutputFormat::Table(_), Some(allocation)) => self.list.add(allocation, &mut self.text),
            (OutputFormat::Table(_), None) => self.list.end(&mut self.text),
            (OutputFormat::Json, next) => self.add_json(next.as_ref())?,
        }
        if !is_last && self.text.len() < PIECE {
            return Ok(true);
        }
        let goes_on = text(&self.format.harmless(&self.text))?;
        self.text.clear();
        Ok(goes_on)
    }

    fn add_json(&mut self, next: Option<&v1::Allocation>) -> Result<(), Error> {
        self.text.push_str(match (self.has_begun, next) {
            (false, _) => "{\"allocations\":[",
            (true, Some(_)) => ",",
            (true, None) => "",
        });
        self.has_begun = true;
        self.text.push_str(&match next {
            Some(allocation) => render::json(allocation)?.to_string(),
            None => "]}\n".to_owned(),
        });
        Ok(())
    }
}

/// Prints the log's items as they are read.
pub(crate) struct LogPrinter {
    lines: render::LogLines,
    format: OutputFormat,
    out: BufWriter<Stdout>,
}

impl LogPrinter {
    /// A log, before its first item.
    pub(crate) fn new(format: &OutputFormat) -> Self {
        if let OutputFormat::Table(View { sort_by: Some(_), .. }) = format {
            invalid("the log cannot be sorted: it is printed in its order");
        }
        Self { lines: render::LogLines::default(), format: format.clone(), out: BufWriter::new(io::stdout()) }
    }

    /// Prints the next item, or flushes if there is none for now; `false` if the reader has closed the pipe.
    pub(crate) fn print(&mut self, next: Option<&LogItem>) -> Result<bool, Error> {
        let Some(item) = next else { return read_on(self.out.flush()) };
        let text = match self.format {
            OutputFormat::Table(_) => self.lines.text(item),
            OutputFormat::Json => self.lines.json(item),
        };
        read_on(self.out.write_all(self.format.harmless(&text).as_bytes()))
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
