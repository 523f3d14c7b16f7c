//! The state of a file from one look to the next, and the next action. Pure.
//!
//! ```text
//!            same as before        whole and applied, or refused
//! changed ──────────────────▶ read ─────────────────────────────▶ done
//!    ▲  ▲                      │ torn or unreadable                 │
//!    │  └──── a few looks ─────┘                                    │
//!    └────────────────── another print ─────────────────────────────┘
//! ```
//!
//! A file that is still being written changes from look to look, so it is read only once two looks are the same.

use super::print::Print;

/// After how many looks a file that could not be read, or was torn, is read again.
const SOON: u32 = 5;

/// After how many looks a component that was refused is tried again: what it lacked may have been the node's memory.
const LATER: u32 = 150;

/// The action after a look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Waits for a change.
    Wait,
    /// Read the file.
    Read,
    /// Say that there is no file to read, and why.
    Complain(String),
}

/// How reading a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SightOutcome {
    /// There is nothing more to do with these bytes.
    Done,
    /// The file was torn, or could not be read.
    Torn,
    /// The component could not be loaded.
    Refused,
}

/// A file, between looks.
#[derive(Debug, Default)]
pub(super) struct Sight {
    last: Option<Print>,
    /// Whether the last print has been acted upon.
    done: bool,
    /// After how many looks the file is read again although it has not changed; 0: not before it changes.
    again_in: u32,
}

impl Sight {
    /// Takes a look into account. The first one is acted upon at once.
    pub(super) fn look(&mut self, print: Print) -> Act {
        let (is_first, is_same) = (self.last.is_none(), self.last.as_ref() == Some(&print));
        if !is_same {
            (self.done, self.again_in) = (false, 0);
        }
        self.last = Some(print.clone());
        if self.done {
            let is_due = self.again_in == 1;
            self.again_in = self.again_in.saturating_sub(1);
            return if is_due { Act::Read } else { Act::Wait };
        }
        if !is_same && !is_first {
            return Act::Wait;
        }
        self.done = true;
        match print {
            Print::File(..) => Act::Read,
            Print::Wrong(why) => Act::Complain(why),
        }
    }

    /// Has the file read again although it has not changed: what its policy may do has.
    pub(super) fn again(&mut self) {
        self.done = false;
    }

    /// Notes how reading ended.
    pub(super) fn has_read(&mut self, outcome: SightOutcome) {
        self.again_in = match outcome {
            SightOutcome::Done => 0,
            SightOutcome::Torn => SOON,
            SightOutcome::Refused => LATER,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A file, and the acts that follow from looks at it.
    struct Watched {
        directory: tempfile::TempDir,
        sight: Sight,
    }

    impl Watched {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let mut watched = Self { directory, sight: Sight::default() };
            fs::write(watched.path("policy.wasm"), "one").unwrap();
            assert_eq!(watched.look(), Act::Read, "the first look waits for nothing");
            watched.sight.has_read(SightOutcome::Done);
            assert_eq!(watched.look(), Act::Wait);
            watched
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.directory.path().join(name)
        }

        fn look(&mut self) -> Act {
            self.sight.look(Print::of(&self.path("policy.wasm")))
        }

        /// The change is seen, and acted upon once it has settled.
        fn settles(&mut self, act: &Act) {
            assert_eq!(self.look(), Act::Wait, "it may still be written");
            assert_eq!(self.look(), *act);
            self.sight.has_read(SightOutcome::Done);
            for _ in 0..LATER + 2 {
                assert_eq!(self.look(), Act::Wait, "once is enough");
            }
        }
    }

    #[test]
    fn each_way_of_replacing_a_file_is_seen_once() {
        let mut watched = Watched::new();
        fs::write(watched.path("new"), "two").unwrap();
        fs::rename(watched.path("new"), watched.path("policy.wasm")).unwrap();
        watched.settles(&Act::Read);
        fs::write(watched.path("policy.wasm"), "thr").unwrap();
        watched.settles(&Act::Read);
        fs::write(watched.path("policy.wasm.minisig"), "signed").unwrap();
        watched.settles(&Act::Read);
        fs::remove_file(watched.path("policy.wasm")).unwrap();
        let Act::Complain(gone) = (0..2).map(|_| watched.look()).last().unwrap() else { panic!("not seen") };
        assert!(gone.contains("No such file"), "{gone}");
        assert_eq!(watched.look(), Act::Wait, "once is enough");
        fs::create_dir(watched.path("policy.wasm")).unwrap();
        watched.settles(&Act::Complain("not a regular file".into()));
    }

    #[test]
    fn a_switched_link_is_another_file() {
        let mut watched = Watched::new();
        fs::create_dir(watched.path("1")).unwrap();
        fs::create_dir(watched.path("2")).unwrap();
        fs::write(watched.path("1/policy.wasm"), "one").unwrap();
        fs::write(watched.path("2/policy.wasm"), "one").unwrap();
        let link = |to: &str, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
        link("1", &watched.path("..data"));
        fs::remove_file(watched.path("policy.wasm")).unwrap();
        link("..data/policy.wasm", &watched.path("policy.wasm"));
        watched.settles(&Act::Read);
        link("2", &watched.path("..next"));
        fs::rename(watched.path("..next"), watched.path("..data")).unwrap();
        watched.settles(&Act::Read);
    }

    #[test]
    fn a_torn_file_is_tried_again_soon_and_a_refused_one_later() {
        for (outcome, after) in [(SightOutcome::Torn, SOON), (SightOutcome::Refused, LATER)] {
            let mut watched = Watched::new();
            fs::write(watched.path("policy.wasm"), "tw").unwrap();
            assert_eq!((watched.look(), watched.look()), (Act::Wait, Act::Read));
            watched.sight.has_read(outcome);
            for _ in 1..after {
                assert_eq!(watched.look(), Act::Wait);
            }
            assert_eq!(watched.look(), Act::Read);
        }
    }
}
