//! The schedule of questions to EC2: soon for what is lacking or in doubt, rarely at rest. Pure: driven by the readings of a clock.
//!
//! | question | usually | sooner |
//! |---|---|---|
//! | the interfaces of the node | [`AT_REST`] while the metadata service agrees with EC2's last word and nobody waits, else [`QUIETEST`] | in doubt, or new: a window; settling: once that is over; not answered: [`RETRIES`]; other security groups are awaited: the longest of these; a hint: at once, unless the last was not answered |
//! | the subnets of the zone | [`SELDOM`] | a pod waits for one: [`WAITED_FOR`] and up to a minute; a minimum is not there: [`LACKING`]; not answered: [`RETRIES`]; denied: [`DENIED`] |
//! | interfaces that are attached to nothing | [`DAILY`] | the first time: [`AT_REST`]; there may be some: [`RARELY`] |
//!
//! A node at rest makes one call at a time, and none for [`GAP`] after it.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// How long after a call that was not answered as it should the next one is made: the first, and the longest while something depends on it.
const RETRIES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(8));

/// How often the subnets are described while pods wait for what they do not have: so often at first, and at last.
const WAITED_FOR: (Duration, Duration) = (Duration::from_secs(8), Duration::from_secs(60));

/// How many of those calls are made at the first pace; after that, each wait is twice as long as the last.
const EAGER: u32 = 6;

/// For how long a pod is waited with that was refused meanwhile: a kubelet tries again.
const REMEMBERED: Duration = Duration::from_secs(60);

/// How often the subnets are described while they do not have what is merely to be kept warm.
const LACKING: Duration = Duration::from_secs(120);

/// How often the subnets are described while EC2 does not allow it, and interfaces could be created in others: as often as any call that is
/// denied.
const DENIED: Duration = Duration::from_secs(75);

/// How often leaked interfaces are looked for while there may be some.
const RARELY: Duration = Duration::from_secs(300);

/// How often each question is asked while nothing speaks against what is known: within the time for which EC2's word about an address counts.
const AT_REST: Duration = Duration::from_secs(7200);

/// How often the subnets are described while nothing is lacking: others open and close them.
const SELDOM: Duration = Duration::from_secs(6 * 3600);

/// How often leaked interfaces are looked for once what earlier processes may have left was: what leaves some is known.
const DAILY: Duration = Duration::from_secs(24 * 3600);

/// The longest time between two looks at the interfaces while only EC2 can say that they are as before.
const QUIETEST: Duration = Duration::from_secs(900);

/// For how long the metadata service's word counts that they are. All of 15 interfaces is read once in that time.
const AGREED: Duration = Duration::from_secs(1200);

/// The least time between two calls of a node at rest.
const GAP: Duration = Duration::from_secs(300);

/// A question to EC2, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LookQuestion {
    /// The node's interfaces.
    Interfaces,
    /// The zone's subnets.
    Subnets,
    /// Interfaces that are attached to nothing.
    Leaked,
}

/// The circumstances that decide how soon EC2 is asked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circumstances {
    /// The boot clock's reading.
    pub(super) now: Duration,
    /// How often EC2 is asked what the node has while that is not at rest.
    pub(super) every: Duration,
    /// How long EC2's answers may lag.
    pub(super) window: Duration,
    /// Whether anything that EC2 showed is in doubt, or in quarantine.
    pub(super) doubts: bool,
    /// The time from which a look settles what an earlier process may have taken; `None` if there is nothing to settle.
    pub(super) settles: Option<Duration>,
    /// Whether requests wait for supply.
    pub(super) waits: bool,
    /// Whether leaked interfaces are looked for.
    pub(super) sweeps: bool,
    /// Whether there are some that were seen once.
    pub(super) leaked: bool,
    /// Whether EC2 may be about to show other security groups.
    pub(super) awaits_groups: bool,
    /// Whether nothing but the interfaces is asked for, because the metadata service answers.
    pub(super) only_interfaces: bool,
    /// Whether EC2 does not let the node describe the subnets, of which the metadata service has named the node's own.
    pub(super) subnets_denied: bool,
    /// Whether interfaces may be created in other subnets than the node's own.
    pub(super) discovers: bool,
    /// Since when the metadata service agrees with all that EC2 has shown of the interfaces.
    pub(super) agreed: Option<Duration>,
    /// Whether the network was redefined, so that the ledger's supply is compared with what EC2 has shown, without another question.
    pub(super) redefined: bool,
}

impl Circumstances {
    /// Whether the metadata service has said a short while ago that the interfaces are as EC2 has shown them.
    fn is_agreed(&self) -> bool {
        let is_recent = |at: Duration| self.now.saturating_sub(at) < AGREED;
        !self.only_interfaces && self.agreed.is_some_and(is_recent)
    }
}

/// The last time at which a question was asked.
#[derive(Debug, Clone, Default)]
struct AskedQuestion {
    at: Option<Duration>,
    /// How often in succession it was not answered.
    failures: u32,
    is_answered: bool,
    /// Jitter of the next wait, in thousandths.
    spread: u32,
}

/// A shortage in the subnets.
#[derive(Debug, Clone, Copy)]
struct SubnetLack {
    /// The last time at which a pod waited for it.
    waited: Option<Duration>,
    /// How often the subnets were described since a pod waits for it.
    asked: u32,
}

/// The questions to EC2, and when they were asked last.
#[derive(Debug)]
pub(super) struct Questions {
    interfaces: AskedQuestion,
    subnets: AskedQuestion,
    leaked: AskedQuestion,
    /// Whether the last look found something new.
    is_news: bool,
    /// Whether somebody hints at a change.
    is_hinted: bool,
    /// The looks for leaked interfaces that are made before they become rare.
    sweeps_left: u32,
    lack: Option<SubnetLack>,
}

impl Questions {
    /// Nothing was asked yet at this time.
    pub(super) fn new(now: Duration) -> Self {
        Self {
            interfaces: AskedQuestion::default(),
            subnets: AskedQuestion::default(),
            // What a process before this one may have left is known from its intents.
            leaked: AskedQuestion { at: Some(now), spread: 1000, ..AskedQuestion::default() },
            is_news: false,
            is_hinted: false,
            sweeps_left: 0,
            lack: None,
        }
    }

    /// Somebody hints at a change of the interfaces; returns whether EC2 is asked at once. While it does not answer, it is asked again soon in
    /// any case, and no sooner.
    pub(super) fn hint(&mut self) -> bool {
        self.is_hinted |= self.interfaces.failures == 0;
        self.is_hinted
    }

    /// An interface may be left over.
    pub(super) fn may_leak(&mut self) {
        self.sweeps_left = 2;
    }

    /// A plan has ended: with `lacks`, the subnets do not have what it wants.
    pub(super) fn planned(&mut self, lacks: bool, waits: bool, now: Duration) {
        if !lacks {
            self.lack = None;
            return;
        }
        let lack = self.lack.get_or_insert(SubnetLack { waited: None, asked: 0 });
        if waits {
            if lack.waited.is_none() {
                lack.asked = 0;
            }
            lack.waited = Some(now);
        }
    }

    /// The questions that are due, in the order in which they are to be asked.
    pub(super) fn due(&mut self, of: &Circumstances) -> Vec<LookQuestion> {
        let mut due: Vec<(Duration, LookQuestion)> =
            self.times(of).into_iter().filter(|(at, _)| *at <= of.now).collect();
        if std::mem::take(&mut self.is_hinted) {
            if due.iter().all(|(_, question)| *question != LookQuestion::Interfaces) {
                due.push((of.now, LookQuestion::Interfaces));
            }
        } else if self.is_at_rest(of) {
            due.sort_unstable();
            due.truncate(1);
        }
        let mut questions: Vec<LookQuestion> = due.into_iter().map(|(_, question)| question).collect();
        questions.sort_unstable();
        questions
    }

    /// How long until the next question, or until a comparison that needs none.
    pub(super) fn wait(&self, of: &Circumstances) -> Duration {
        if self.is_hinted || of.redefined {
            return Duration::ZERO;
        }
        let next = self.times(of).into_iter().map(|(at, _)| at).min().unwrap_or(of.now);
        let last =
            [&self.interfaces, &self.subnets, &self.leaked].into_iter().filter_map(|asked| asked.at).max();
        let earliest = match last {
            Some(last) if self.is_at_rest(of) => last.saturating_add(GAP),
            _ => Duration::ZERO,
        };
        next.max(earliest).saturating_sub(of.now)
    }

    /// How long until the subnets are described again.
    pub(super) fn wait_for_subnets(&self, of: &Circumstances) -> Duration {
        self.subnets_at(of).saturating_sub(of.now)
    }

    /// The interfaces were described; `news` is whether something was new, and nothing if there was no full answer.
    pub(super) fn interfaces_asked(&mut self, news: Option<bool>, now: Duration, spread: u32) {
        self.interfaces.asked(news.is_some(), now, spread);
        self.is_news = news.unwrap_or(true);
    }

    /// Notes that the ledger's supply was compared with what EC2 shows.
    pub(super) fn reconciled(&mut self, is_news: bool) {
        self.is_news = is_news;
    }

    /// The subnets were described, or were not.
    pub(super) fn subnets_asked(&mut self, is_answered: bool, now: Duration, spread: u32) {
        self.subnets.asked(is_answered, now, spread);
        if let Some(lack) = &mut self.lack {
            lack.asked = lack.asked.saturating_add(1);
        }
    }

    /// Leaked interfaces were looked for.
    pub(super) fn leaked_asked(&mut self, is_answered: bool, now: Duration, spread: u32) {
        self.leaked.asked(is_answered, now, spread);
        self.sweeps_left = self.sweeps_left.saturating_sub(u32::from(is_answered));
    }

    /// Whether nothing is unknown, in doubt or lacking.
    fn is_at_rest(&self, of: &Circumstances) -> bool {
        let is_known = |asked: &AskedQuestion| asked.is_answered && asked.failures == 0;
        let are_subnets_known = match (of.only_interfaces, of.subnets_denied) {
            (true, _) => true,
            (false, true) => !of.discovers,
            (false, false) => is_known(&self.subnets) && self.lack.is_none(),
        };
        is_known(&self.interfaces) && are_subnets_known && !of.doubts && !of.awaits_groups
    }

    fn times(&self, of: &Circumstances) -> Vec<(Duration, LookQuestion)> {
        let mut times = vec![(self.interfaces_at(of), LookQuestion::Interfaces)];
        if of.only_interfaces {
            return times;
        }
        times.push((self.subnets_at(of), LookQuestion::Subnets));
        if of.sweeps && self.interfaces.is_answered && self.subnets.is_answered {
            let every = match self.sweeps_left > 0 || of.leaked {
                true => RARELY,
                false if self.leaked.is_answered => DAILY,
                false => AT_REST,
            };
            times.push((self.leaked.after(every), LookQuestion::Leaked));
        }
        times
    }

    fn interfaces_at(&self, of: &Circumstances) -> Duration {
        let is_urgent = of.waits || self.is_waited_for(of) || !self.interfaces.is_answered;
        let settles = of.settles.filter(|settles| self.interfaces.at.is_some_and(|last| last < *settles));
        if let (Some(settles), 0, false) = (settles, self.interfaces.failures, of.awaits_groups) {
            return settles;
        }
        let every = match (self.interfaces.retry(is_urgent, of.every / 4), of.doubts) {
            (Some(retry), _) => retry,
            _ if of.awaits_groups => RETRIES.1.min(of.every),
            // What is in quarantine may be explained any time.
            (None, true) => of.every.min(of.window),
            (None, false) if self.is_news => of.every,
            // Who waits although nothing can be planned may wait for what only a look would show.
            (None, false) if of.is_agreed() && !self.is_waited_for(of) => AT_REST.max(of.every),
            (None, false) => QUIETEST.max(of.every),
        };
        self.interfaces.after(every)
    }

    fn subnets_at(&self, of: &Circumstances) -> Duration {
        let (first, longest) = WAITED_FOR;
        if of.subnets_denied {
            // What is known suffices for the node's own subnets, and the answer would be the same.
            return self.subnets.after(if of.discovers { DENIED } else { SELDOM });
        }
        let lacking = match self.lack {
            None => SELDOM,
            Some(SubnetLack { asked, .. }) if self.is_waited_for(of) => {
                first.saturating_mul(1 << asked.saturating_sub(EAGER).min(8)).min(longest)
            }
            Some(_) => LACKING,
        };
        self.subnets.after(self.subnets.retry(true, lacking).unwrap_or(lacking))
    }

    /// Whether a pod waits for what the subnets do not have, or has waited a moment ago.
    fn is_waited_for(&self, of: &Circumstances) -> bool {
        let waited = self.lack.and_then(|lack| lack.waited);
        waited.is_some_and(|waited| of.now.saturating_sub(waited) < REMEMBERED)
    }
}

impl AskedQuestion {
    fn asked(&mut self, is_answered: bool, now: Duration, spread: u32) {
        (self.at, self.spread) = (Some(now), spread);
        self.is_answered |= is_answered;
        self.failures = if is_answered { 0 } else { self.failures.saturating_add(1) };
    }

    /// How long to wait after failures; nothing if there was none.
    fn retry(&self, is_urgent: bool, patient: Duration) -> Option<Duration> {
        let (first, longest) = RETRIES;
        let doublings = self.failures.checked_sub(1)?;
        let most = if is_urgent { longest } else { longest.max(patient) };
        Some(first.saturating_mul(1 << doublings.min(8)).min(most))
    }

    /// The time so long after the last call, jittered; at once if there was none.
    fn after(&self, wait: Duration) -> Duration {
        self.at.map_or(Duration::ZERO, |at| at.saturating_add(wait.saturating_mul(self.spread) / 1000))
    }
}
