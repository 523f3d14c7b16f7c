//! The demonstration's output: coloured on a terminal, plain elsewhere.

use std::io::{IsTerminal as _, stdout};

/// Prints the demonstration's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Teller {
    colours: bool,
}

impl Teller {
    /// Uses colours if standard output is a terminal and `NO_COLOR` is not set.
    pub(crate) fn new() -> Self {
        Self { colours: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    /// Prints the title of an act.
    pub(crate) fn act(self, title: &str) {
        println!("\n{}", self.paint("1", title));
    }

    /// Prints a remark.
    pub(crate) fn line(self, text: &str) {
        println!("  {}", self.paint("2", text));
    }

    /// Prints that a guarantee holds.
    pub(crate) fn good(self, text: &str) {
        println!("  {} {text}", self.paint("32", "ok"));
    }

    /// Prints an action on the node.
    pub(crate) fn turn(self, text: &str) {
        println!("  {}", self.paint("33", &format!("-> {text}")));
    }

    /// Prints a command and what it printed.
    pub(crate) fn shown(self, command: &str, printed: &str) {
        self.turn(command);
        for line in printed.lines() {
            println!("     {line}");
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
