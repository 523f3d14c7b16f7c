//! The work beside the requests: ending watches, rolling back, and following with the shadows. The daemon calls it; the
//! engine itself spawns nothing and never sleeps.

use std::time::Duration;

use tenure_types::{Moment, NetworkName};

use super::PolicyExchange;

/// How often watches and shadows are looked at when nothing happens.
const EVERY: Duration = Duration::from_secs(1);

impl PolicyExchange {
    /// Serves [`Engine::tend`](crate::Engine::tend).
    pub(crate) async fn tend(&self) -> Option<Duration> {
        let mut runs = self.tending.lock().await;
        let mut of_watches = None;
        for network in self.core.networks.names() {
            if self.core.committer.choice(&network).is_some_and(|choice| choice.watched) {
                self.tend_watch(&network).await;
                of_watches = Some(EVERY);
            }
        }
        let of_shadows = self.tend_shadows(&mut runs).await.map(|pause| pause.min(EVERY));
        of_watches.into_iter().chain(of_shadows).min()
    }

    /// Serves [`Engine::due`](crate::Engine::due).
    pub(crate) async fn due(&self) {
        self.due.notified().await;
    }

    /// Rolls a network back whose policy does worse than the one before, or ends its watch when the time is over.
    async fn tend_watch(&self, name: &NetworkName) {
        let settings = self.core.settings().exchange.clone();
        let Some(choice) = self.core.committer.choice(name).filter(|choice| choice.watched) else { return };
        let Some(slot) = self.core.networks.get(name) else { return };
        let (over, told, to) = {
            let mut state = slot.state();
            let Some(served) = state.as_mut() else { return };
            // After a restart it is not known whether the exchange changed more than the policy, so only failures count.
            let watch = served.watch.get_or_insert_default();
            (watch.is_over(settings.worse_percent), watch.told(), watch.measure.clone())
        };
        if over {
            self.roll_back_by_itself(name, &choice, to, &told).await;
            return;
        }
        if has_passed(choice.at, self.core.now(), settings.watch) {
            if let Some(served) = slot.state().as_mut() {
                served.watch = None;
            }
            self.core.note_kept(name, &choice, &told);
        }
    }
}

/// Whether a duration has passed since a moment; a reboot ends it.
fn has_passed(since: Moment, now: Moment, duration: Duration) -> bool {
    let passed = now.boot_ns.checked_sub(since.boot_ns).map(Duration::from_nanos);
    passed.is_none_or(|passed| passed >= duration)
}
