use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use tenure_types::printable;

use super::*;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The output of a few events in a format.
fn logged(format: Format, filter: &str) -> String {
    let captured = Captured::default();
    let writer = captured.clone();
    let filter = Filter::try_from(filter.to_owned()).unwrap();
    let (subscriber, _) = subscriber(format, filter, false, move || writer.clone());
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(network = "pods", "a network was created");
        tracing::warn!(target: "policy", "no address is left");
        tracing::debug!("in detail");
    });
    String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn the_journal_gets_priorities_and_no_time() {
    insta::assert_snapshot!(logged(Format::Journal, "debug"), @r#"
    <6>tenure_observe::logging::tests: a network was created network="pods"
    <4>policy: no address is left
    <7>tenure_observe::logging::tests: in detail
    "#);
}

/// A name that would begin a line of its own, colour the terminal, and turn and hide what follows.
const DECEIVING: &str = "a\n<3>forged\r\u{1b}[31m\u{9b}2J\u{202e}\u{200b}\u{2066}\u{e0041}\u{feff}z";

#[test]
fn what_comes_from_outside_cannot_deceive_a_reader_of_the_log() {
    for (format, colours) in
        [(Format::Journal, false), (Format::Text, false), (Format::Text, true), (Format::Json, false)]
    {
        let captured = Captured::default();
        let writer = captured.clone();
        let (subscriber, _) = subscriber(format, Filter::default(), colours, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(pod = DECEIVING, why = %DECEIVING, debug = ?DECEIVING, "told {DECEIVING}");
        });
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        let line = text.strip_suffix('\n').unwrap();
        let is_harmless = |c| printable::is_harmless(c) || (colours && c == '\u{1b}');
        assert!(line.chars().all(is_harmless), "{format:?}: {line:?}");
        assert!(!line.contains("\u{1b}[31m"), "{format:?}: {line:?}");
        if format == Format::Json {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["pod"], DECEIVING, "JSON keeps its values");
        }
    }
}

#[test]
fn a_filter_chooses_by_target() {
    insta::assert_snapshot!(logged(Format::Journal, "error,policy=warn"), @"<4>policy: no address is left");
}

#[test]
fn a_filter_changes_while_the_process_runs() {
    let captured = Captured::default();
    let writer = captured.clone();
    let filter = |text: &str| Filter::try_from(text.to_owned()).unwrap();
    let (subscriber, control) = subscriber(Format::Journal, filter("warn"), false, move || writer.clone());
    tracing::subscriber::with_default(subscriber, || {
        for (number, level) in ["warn", "debug", "off"].into_iter().enumerate() {
            control.set(filter(level));
            tracing::debug!(number, "in detail");
            tracing::error!(number, "a fault");
        }
    });
    insta::assert_snapshot!(String::from_utf8(captured.0.lock().unwrap().clone()).unwrap(), @r#"
    <3>tenure_observe::logging::tests: a fault number=0
    <7>tenure_observe::logging::tests: in detail number=1
    <3>tenure_observe::logging::tests: a fault number=1
    "#);
}

#[test]
fn json_is_an_object_a_line_with_fields_at_the_top() {
    let text = logged(Format::Json, "info");
    assert_eq!(text.lines().count(), 2, "{text}");
    for line in text.lines() {
        assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
    }
    assert!(text.contains(r#""network":"pods""#), "{text}");
}

#[test]
fn text_has_a_time_and_a_level() {
    let text = logged(Format::Text, "info");
    let line = text.lines().next().unwrap();
    assert!(line.contains("Z  INFO "), "{line}");
    assert!(!line.contains('\u{1b}'), "{line}");
}

#[test]
fn the_journal_is_known_by_its_stream_and_not_by_the_variable_alone() {
    let found = rustix::fs::fstat(io::stderr().as_fd()).unwrap();
    assert!(is_journal(Some(&format!("{}:{}", found.st_dev, found.st_ino))));
    assert!(!is_journal(Some(&format!("{}:{}", found.st_dev, found.st_ino + 1))));
    assert!(!is_journal(Some("nonsense")));
    assert!(!is_journal(None));
}

#[test]
fn a_filter_reads_back_what_it_was() {
    assert_eq!(Filter::default().to_string(), "info");
    assert_eq!(Filter::try_from(" warn".to_owned()).unwrap().to_string(), "warn");
    assert_eq!(
        Filter::try_from("info, tenure_policy=debug".to_owned()).unwrap().to_string(),
        "tenure_policy=debug,info"
    );
}

#[test]
fn a_filter_that_would_silence_the_daemon_by_mistake_is_refused() {
    let refusal = |text: &str| Filter::try_from(text.to_owned()).unwrap_err().to_string();
    for text in ["verbose", "infos", "info,verbose", "policy=shout", "tenure_policy=", "info,", ","] {
        assert!(refusal(text).contains("; the levels are off, error, warn, info, debug and trace"), "{text}");
    }
    assert!(
        refusal("info,tenure_polcy=debug")
            .starts_with("unknown part \"tenure_polcy\"; the parts are tenured, ")
    );
    assert!(refusal("=info").starts_with("unknown part"));
    assert!(refusal(" ").starts_with("it is empty"));
    for text in [
        "off",
        "WARN",
        "tenure=debug",
        "tenured",
        "error,tenure_policy::call=trace",
        "info,h2=debug",
        "warn,policy=info",
    ] {
        assert!(Filter::try_from(text.to_owned()).is_ok(), "{text}");
    }
}
