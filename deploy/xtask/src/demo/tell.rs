//! How the demonstration speaks: in colours on a terminal, plainly elsewhere.

use std::io::{IsTerminal as _, stdout};

/// Speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Teller {
    colours: bool,
}

impl Teller {
    /// Looks at where the words go; `NO_COLOR` is respected.
    pub(crate) fn new() -> Self {
        Self { colours: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    /// Begins an act.
    pub(crate) fn act(self, title: &str) {
        println!("\n{}", self.paint("1", title));
    }

    /// Says something by the way.
    pub(crate) fn line(self, text: &str) {
        println!("  {}", self.paint("2", text));
    }

    /// Says that something is as promised.
    pub(crate) fn good(self, text: &str) {
        println!("  {} {text}", self.paint("32", "ok"));
    }

    /// Says what is done to the node.
    pub(crate) fn turn(self, text: &str) {
        println!("  {}", self.paint("33", &format!("-> {text}")));
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
