//! Returning to the policy that served a network before.

use std::sync::Arc;

use tenure_ledger::choices::Served;
use tenure_ledger::{Choice, Chooser};
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, Result};

use super::words::shortened;
use crate::engine::Engine;
use crate::redefine::{Redefined, Wanted};
use crate::strikes::Requester;

impl Engine {
    /// Makes the policy before the present one serve a network again; durable when this returns. Its ranges return with
    /// it.
    ///
    /// # Errors
    /// `UnknownNetwork`, `NotReady` while the policy before is being compiled, `NothingBefore` when the network has had no other policy, and those of
    /// [`activate`](Self::activate).
    pub async fn roll_back(&self, network: &NetworkName, why: &str) -> Result<Redefined> {
        self.roll_back_to(network, None, why).await
    }

    /// The same for an earlier policy; without one, the policy before the present one.
    ///
    /// # Errors
    /// As [`roll_back`](Self::roll_back); `NothingBefore` also when the network has not had that policy, as far as the node remembers.
    pub async fn roll_back_to(
        &self,
        network: &NetworkName,
        to: Option<&PolicySelector>,
        why: &str,
    ) -> Result<Redefined> {
        let served = self.served(network);
        let why = match why {
            "" => "rolled back by an operator".to_owned(),
            why => format!("rolled back by an operator: {why}"),
        };
        let answer = async { self.serve_roll_back(network, served?, to, Chooser::Operator, &why).await };
        self.observed("rollback", network, None, answer).await
    }

    pub(super) async fn serve_roll_back(
        &self,
        name: &NetworkName,
        served: Served,
        to: Option<&PolicySelector>,
        by: Chooser,
        why: &str,
    ) -> Result<Redefined> {
        let nothing = || {
            let cause = match to {
                None => format!("network {name} has had no policy before the present one"),
                Some(to) => format!("policy {to} is not one of the last that served network {name}"),
            };
            Error::new(ErrorCode::NothingBefore, cause)
        };
        let mut before = served.before.iter();
        let before =
            before.find(|choice| to.is_none_or(|to| to.matches(&choice.policy))).ok_or_else(nothing)?;
        // Its file may be gone; the node has kept a copy.
        let policy = match self.ports.catalogue.find_pinned(&before.policy) {
            // The compilation may take minutes, in which a caller would be told nothing.
            Err(error) if error.code != ErrorCode::Preparing => {
                self.ports.catalogue.load(&before.policy).await?
            }
            found => found?,
        };
        let slot = self.networks.known(name).ok_or_else(|| Self::unknown_network(name))?;
        let alone = slot.alone().await;
        if self.committer.choice(name).is_none_or(|now| now != served.now) {
            let cause = format_args!("the policy of network {name} has changed meanwhile");
            return Err(Error::new(ErrorCode::NothingBefore, cause));
        }
        let network = alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let network = network.ok_or_else(|| Self::unknown_network(name))?;
        let (config, definer) = (Arc::clone(&network.config), network.defined_by);
        let (why, requester) = (shortened(why), Requester::Operator);
        let wanted = Wanted { policy, by, why, empty_state: false, config, definer, requester };
        self.exchange(alone, name, wanted, true).await
    }

    /// Rolls a watched network back from a choice, or notes why that is not possible. A choice that was made since stays.
    pub(super) async fn roll_back_by_itself(&self, network: &NetworkName, bad: &Choice, why: &str) {
        let Ok(served) = self.served(network) else { return };
        if served.now != *bad {
            return;
        }
        let answer = self.serve_roll_back(network, served, None, Chooser::RollBack, why);
        match self.observed("rollback", network, None, answer).await {
            Ok(redefined) => {
                tracing::warn!(%network, policy = %redefined.after, why, "rolled back");
            }
            Err(error) => {
                tracing::error!(%network, %error, why, "cannot roll back");
                // The watch ends, so that this is not tried for ever; the benching of failing policies goes on.
                self.note_kept(network, bad, &format!("it cannot be rolled back: {error}"));
            }
        }
    }
}
