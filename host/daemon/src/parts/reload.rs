//! Reloads the configuration on SIGHUP and, with `--follow`, whenever its file changes.
//!
//! The file is polled, as those of policies are: inotify does not report a link that is switched further up its path, as Kubernetes does with a
//! ConfigMap. A file that is refused is read again once it changes again; one that could not be read, also without that: 2 seconds later, and each
//! time after twice as long, up to 32 seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure_supervise::{Interruptible, beat, stir};
use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;

use super::stat::Stat;
use crate::live::Live;

/// How often to look at the file: on the beat of the other parts.
const EVERY: Duration = Duration::from_secs(2);

/// The most looks before a file that could not be read is read again.
const MOST_LOOKS: u32 = 16;

/// The sources of requests to reload.
pub(crate) struct ReloadRequests {
    pub(crate) hangups: Signal,
    /// The configuration's file, if it is followed.
    pub(crate) followed: Option<FollowedConfig>,
}

/// The configuration's file, as it was when it was last read and at the last look.
#[derive(Debug)]
pub(crate) struct FollowedConfig {
    path: PathBuf,
    read: Option<Stat>,
    seen: Option<Stat>,
    /// The looks until it is read again although it has not changed, and how many they were at first; 0 if it could be read.
    again: (u32, u32),
}

impl FollowedConfig {
    /// Follows a file from now on.
    pub(crate) fn new(path: &Path) -> Self {
        let seen = stat(path);
        Self { read: seen.clone(), seen, path: path.to_owned(), again: (0, 0) }
    }

    /// Records a look, and returns whether the file is to be read: it is another one than was read, or that one could not be read, and it is the
    /// same as at the look before. An editor that is still writing has left half a file, which might be a valid one.
    fn is_news(&mut self, found: Option<Stat>) -> bool {
        let has_settled = self.seen == found;
        let is_news = has_settled && (self.read != found || self.again.0 == 1);
        // What keeps a file from being read may keep it from being looked at, too: such a look does not count.
        self.again.0 = self.again.0.saturating_sub(u32::from(has_settled));
        if is_news {
            self.read.clone_from(&found);
        }
        self.seen = found;
        is_news
    }

    /// Records whether the file could be read. What keeps it from being read may pass without a change of the file.
    fn was_read(&mut self, is_unread: bool) {
        let looks = if is_unread { (self.again.1 * 2).clamp(1, MOST_LOOKS) } else { 0 };
        self.again = (looks, looks);
    }
}

fn stat(path: &Path) -> Option<Stat> {
    fs::metadata(path).ok().as_ref().map(Stat::of)
}

/// Listens for SIGHUP, and looks at the file.
pub(crate) struct ReloadPart {
    requests: ReloadRequests,
    live: Arc<Live>,
}

impl ReloadPart {
    pub(crate) fn build(requests: ReloadRequests, live: Arc<Live>) -> Self {
        Self { requests, live }
    }

    /// Waits for a change of the file, if it is followed.
    async fn changed(followed: &mut Option<FollowedConfig>) {
        let Some(followed) = followed else { return std::future::pending().await };
        loop {
            beat(EVERY).await;
            let path = followed.path.clone();
            // Only the reading leaves this task: a look that is interrupted has changed nothing.
            let Ok(found) = spawn_blocking(move || stat(&path)).await else { continue };
            if followed.is_news(found) {
                return;
            }
        }
    }
}

impl Interruptible for ReloadPart {
    async fn work(&mut self) {
        loop {
            let ReloadRequests { hangups, followed } = &mut self.requests;
            tokio::select! {
                signal = hangups.recv() => match signal {
                    Some(()) => tracing::info!("SIGHUP: reloading the configuration"),
                    None => return,
                },
                () = Self::changed(followed) => {
                    tracing::info!("the configuration's file has changed: reloading it");
                }
            }
            // An idle node looks at what follows from it soon, too.
            stir();
            // `reload` logs the result.
            let _ = self.live.reload().await;
            if let Some(followed) = followed {
                followed.was_read(self.live.is_unread());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_config_map_that_is_switched_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for version in ["1", "2"] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("tenured.toml"), "").unwrap();
        }
        symlink("1", at("..data")).unwrap();
        symlink("..data/tenured.toml", at("tenured.toml")).unwrap();
        let mut followed = FollowedConfig::new(&at("tenured.toml"));
        let mut look = || followed.is_news(stat(&at("tenured.toml")));
        assert!(!look());
        symlink("2", at("..next")).unwrap();
        fs::rename(at("..next"), at("..data")).unwrap();
        assert_eq!([look(), look(), look()], [false, true, false]);
        fs::remove_file(at("..data")).unwrap();
        assert_eq!([look(), look(), look()], [false, true, false], "it is gone");
    }

    #[test]
    fn a_file_that_is_still_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenured.toml");
        fs::write(&path, "").unwrap();
        let mut followed = FollowedConfig::new(&path);
        for text in ["a", "ab", "abc"] {
            fs::write(&path, text).unwrap();
            assert!(!followed.is_news(stat(&path)));
        }
        assert!(followed.is_news(stat(&path)));
    }

    #[test]
    fn a_file_that_could_not_be_read_is_read_again_less_and_less_often() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenured.toml");
        fs::write(&path, "").unwrap();
        let mut followed = FollowedConfig::new(&path);
        fs::write(&path, "[limits]").unwrap();
        let mut until_read = |is_unread| {
            followed.was_read(is_unread);
            (1..100).find(|_| followed.is_news(stat(&path)))
        };
        assert_eq!(until_read(false), Some(2), "it has changed");
        let waits: Vec<_> = (0..6).map(|_| until_read(true)).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 16].map(Some));
        assert_eq!(until_read(false), None, "its text is known");
    }

    /// Regression: a look that failed used up the only time at which the file was to be read again.
    #[test]
    fn a_look_that_fails_only_puts_off_when_a_file_that_could_not_be_read_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenured.toml");
        fs::write(&path, "").unwrap();
        let mut followed = FollowedConfig::new(&path);
        followed.was_read(true);
        let looks = [None, stat(&path), stat(&path), stat(&path)].map(|found| followed.is_news(found));
        assert_eq!(looks, [false, false, true, false]);
    }
}
