//! The log of what cannot be read: each complaint once, for as long as it stands, and so many at a time. Anybody who writes objects can cause them.

use std::collections::BTreeSet;

/// The most complaints that one pass logs.
const MAX_LINES: usize = 20;

/// The complaints that stand and were logged.
#[derive(Debug, Default)]
pub struct Complaints(BTreeSet<String>);

impl Complaints {
    /// Logs the complaints that are new. Those that are too many for one pass come with the next ones.
    pub fn tell<'a>(&mut self, standing: impl Iterator<Item = &'a String>) {
        let (news, more) = self.news(standing);
        for complaint in news {
            tracing::error!("cannot be read: {complaint}");
        }
        if more > 0 {
            tracing::error!("{more} more cannot be read, which the next passes name");
        }
    }

    /// The complaints to log, and the number of those that wait. One that no longer stands is news when it comes again.
    fn news<'a>(&mut self, standing: impl Iterator<Item = &'a String>) -> (Vec<String>, usize) {
        let standing: BTreeSet<&String> = standing.collect();
        self.0.retain(|logged| standing.contains(logged));
        let new: Vec<String> =
            standing.into_iter().filter(|complaint| !self.0.contains(*complaint)).cloned().collect();
        let more = new.len().saturating_sub(MAX_LINES);
        let news: Vec<String> = new.into_iter().take(MAX_LINES).collect();
        self.0.extend(news.iter().cloned());
        (news, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_complaint_is_logged_once_while_it_stands_and_a_few_in_a_pass() {
        let (mut complaints, one) = (Complaints::default(), vec!["NodeIPAM n1: unknown".to_owned()]);
        assert_eq!(complaints.news(one.iter()), (one.clone(), 0));
        assert_eq!(complaints.news(one.iter()), (vec![], 0), "it is known");
        assert_eq!(complaints.news([].iter()), (vec![], 0));
        assert_eq!(complaints.news(one.iter()), (one, 0), "it came again");
        // One node can have 256 of them.
        let many: Vec<String> = (0..256).map(|turn| format!("NodeIPAM n2: a.1-1.{turn}")).collect();
        let (first, more) = complaints.news(many.iter());
        assert_eq!((first.len(), more), (MAX_LINES, 256 - MAX_LINES));
        let (second, more) = complaints.news(many.iter());
        assert_eq!((second.len(), more), (MAX_LINES, 256 - 2 * MAX_LINES));
        assert!(second.iter().all(|complaint| !first.contains(complaint)));
    }
}
