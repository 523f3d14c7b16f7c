//! The results: figures with their units and goals, and the raw figures behind each ratio.

use std::fmt::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use crate::parts::Parts;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unit {
    Microseconds,
    Seconds,
    PerSecond,
    /// A ratio of two figures of the same run.
    Times,
    Megabytes,
    Instructions,
    Count,
    /// A count that is a fraction, such as a mean.
    Each,
}

/// A number and its unit.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

/// The goal of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// A row of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    measure: String,
    figure: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<bool>,
    /// Why the goal is not reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The figures that it was computed from, or that put it in context.
    raw: Vec<(String, Figure)>,
}

/// A whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: String,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Parts>,
}

impl Unit {
    pub(crate) const fn of(self, value: f64) -> Figure {
        Figure { value, unit: self }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.unit {
            Unit::Microseconds if value < 100.0 => write!(formatter, "{value:.1} us"),
            Unit::Microseconds => write!(formatter, "{value:.0} us"),
            Unit::Seconds => write!(formatter, "{value:.2} s"),
            Unit::PerSecond => write!(formatter, "{value:.0}/s"),
            Unit::Times => write!(formatter, "{value:.2} x"),
            Unit::Megabytes => write!(formatter, "{value:.2} MB"),
            Unit::Count => write!(formatter, "{value:.0}"),
            Unit::Each => write!(formatter, "{value:.2}"),
            Unit::Instructions => write!(formatter, "{:.0} thousand", value / 1e3),
        }
    }
}

impl Row {
    pub(crate) fn new(measure: impl Into<String>, figure: Figure) -> Self {
        Self { measure: measure.into(), figure, goal: None, reached: None, reason: None, raw: Vec::new() }
    }

    pub(crate) fn at_most(mut self, most: f64) -> Self {
        self.goal = Some(Goal::AtMost(most));
        self.reached = Some(self.figure.value <= most);
        self
    }

    pub(crate) fn at_least(mut self, least: f64) -> Self {
        self.goal = Some(Goal::AtLeast(least));
        self.reached = Some(self.figure.value >= least);
        self
    }

    /// Gives the reason if the goal, which is set already, is not reached.
    pub(crate) fn because(mut self, reason: &'static str) -> Self {
        self.reason = (self.reached == Some(false)).then_some(reason);
        self
    }

    pub(crate) fn raw(mut self, what: impl Into<String>, figure: Figure) -> Self {
        self.raw.push((what.into(), figure));
        self
    }

    /// Measure, figure, goal and raw figures, as text.
    fn cells(&self) -> [String; 4] {
        let goal = self.goal.map_or(String::new(), |goal| {
            let (sign, value) = match goal {
                Goal::AtMost(value) => ("<=", value),
                Goal::AtLeast(value) => (">=", value),
            };
            let missed = if self.reached == Some(false) { ", NOT REACHED" } else { "" };
            format!("{sign} {}{missed}", self.figure.unit.of(value))
        });
        let raw = self.raw.iter().map(|(what, figure)| format!("{what} {figure}"));
        let raw: Vec<String> = raw.chain(self.reason.map(str::to_owned)).collect();
        [self.measure.clone(), self.figure.to_string(), goal, raw.join(", ")]
    }
}

const HEADINGS: [&str; 4] = ["measure", "figure", "goal", "of"];

impl Report {
    pub(crate) fn new(machine: String, rows: Vec<Row>, parts: Option<Parts>) -> Self {
        Self { machine, rows, parts }
    }

    pub(crate) fn parts(&self) -> Option<&Parts> {
        self.parts.as_ref()
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADINGS);
        table.add_rows(self.rows.iter().map(Row::cells));
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        let parts = self.parts.as_ref().map_or_else(String::new, |parts| format!("\n{}", parts.lines()));
        format!("{}\n\n{}\n{parts}", self.machine, lines.join("\n"))
    }

    /// For programs.
    pub(crate) fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// For the book.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("On {}:\n\n", self.machine);
        let line = |cells: [&str; 4]| format!("| {} |\n", cells.join(" | "));
        let _ = write!(text, "{}{}", line(HEADINGS), line(["---"; 4]));
        for row in &self.rows {
            let cells = row.cells();
            text += &line(cells.each_ref().map(String::as_str));
        }
        text
    }
}
