//! The times at which an executor looks at the outside: not twice at once, at a hint, and when its wing says so.

use std::time::Duration;

use crate::core::Core;
use crate::wing::Wing;

/// The looks of an executor. Times are readings of the boot clock.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    is_looking: bool,
    /// Whether somebody wants a look.
    is_hinted: bool,
    /// End of the last look; `None` before the first, which is due at once.
    last: Option<Duration>,
}

impl Looks {
    /// The time of the next look; `None` while one is under way.
    pub(crate) fn due<W: Wing>(&self, core: &Core<W>) -> Option<Duration> {
        if self.is_looking {
            return None;
        }
        match self.last {
            Some(last) if !self.is_hinted => Some(core.wing.next_look(last)),
            _ => Some(core.tools.now()),
        }
    }

    /// Begins a look if one is due.
    pub(crate) fn begin<W: Wing>(&mut self, core: &Core<W>) -> bool {
        let begins = self.due(core).is_some_and(|at| core.tools.now() >= at);
        if begins {
            (self.is_looking, self.is_hinted) = (true, false);
        }
        begins
    }

    /// Somebody wants a look; if one is under way, another after it.
    pub(crate) fn hinted(&mut self) {
        self.is_hinted = true;
    }

    /// The look ended.
    pub(crate) fn ended(&mut self, now: Duration) {
        self.is_looking = false;
        self.last = Some(now);
    }
}
