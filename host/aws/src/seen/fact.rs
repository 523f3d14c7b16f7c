//! One fact about EC2, its evidence, and the doubts about it.

use std::time::Duration;

/// The source of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The ledger, which has ranges of it; EC2 has not been asked yet.
    Ledger,
    /// A describe showed it.
    Described,
    /// A call of ours brought it about.
    Answered,
}

impl Evidence {
    /// Names it for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Described => "describe",
            Self::Answered => "answer",
        }
    }
}

/// How a fact stands. The worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeenStanding {
    /// Nothing speaks against it.
    Confirmed,
    /// A describe did not show it.
    Doubtful {
        /// Time at which that call was sent.
        since: Duration,
    },
    /// Two describes, a window apart, did not show it.
    Gone {
        /// Time at which the first was sent.
        since: Duration,
    },
}

impl SeenStanding {
    /// Names it for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Doubtful { .. } => "doubtful",
            Self::Gone { .. } => "gone",
        }
    }

    /// Returns the time of the first describe that did not show it.
    #[must_use]
    pub fn since(self) -> Option<Duration> {
        match self {
            Self::Confirmed => None,
            Self::Doubtful { since } | Self::Gone { since } => Some(since),
        }
    }
}

/// A fact about EC2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFact {
    /// Source that showed it last.
    pub by: Evidence,
    /// Time of that evidence.
    pub at: Duration,
    /// Whether nothing but describes shows it, all of them so early that they may be older than this process.
    is_early: bool,
    /// The first and the latest describe since then that did not show it.
    missed: Option<(Duration, Duration)>,
}

impl SeenFact {
    /// A new fact.
    #[must_use]
    pub fn new(by: Evidence, at: Duration) -> Self {
        Self { by, at, is_early: false, missed: None }
    }

    /// How it stands.
    #[must_use]
    pub fn standing(&self, window: Duration) -> SeenStanding {
        match self.missed {
            None => SeenStanding::Confirmed,
            Some((since, last)) if last.saturating_sub(since) >= window => SeenStanding::Gone { since },
            Some((since, _)) => SeenStanding::Doubtful { since },
        }
    }

    /// Notes that a source showed it. Describes are early until `settles`.
    pub(super) fn confirm(&mut self, by: Evidence, at: Duration, settles: Duration) {
        // What a call of ours did is better evidence than a describe of the time before or shortly after.
        let is_older = self.at > at;
        if !is_older {
            let is_early = self.is_early && by == Evidence::Described && at < settles;
            *self = Self { is_early, ..Self::new(by, at) };
        }
    }

    /// A fact that nothing but this source shows.
    pub(super) fn first(by: Evidence, at: Duration, settles: Duration) -> Self {
        Self { is_early: by == Evidence::Described && at < settles, ..Self::new(by, at) }
    }

    /// Whether it is not there for sure yet, because an earlier process may have taken it.
    #[must_use]
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// A describe sent at `asked` did not show it.
    pub(super) fn miss(&mut self, asked: Duration, window: Duration) {
        let may_lag = self.by == Evidence::Answered && asked < self.at.saturating_add(window);
        if may_lag || asked < self.at {
            return;
        }
        let since = self.missed.map_or(asked, |(since, _)| since);
        self.missed = Some((since, asked));
    }
}
