//! Returning to the policy that served a network before.

use std::sync::Arc;

use tenure_ledger::choices::Served;
use tenure_ledger::{Choice, Chooser};
use tenure_types::{Error, ErrorCode, NetworkName, PolicySelector, PolicyStamp, Result};

use super::PolicyExchange;
use crate::core::strikes::Requester;
use crate::network::networks::unknown_network;
use crate::network::redefine::{Redefined, Wanted};
use crate::policy::words::{explained, shortened};

impl PolicyExchange {
    /// Serves [`Engine::roll_back_to`](crate::Engine::roll_back_to).
    pub(crate) async fn roll_back(
        &self,
        network: &NetworkName,
        to: Option<&PolicySelector>,
        why: &str,
    ) -> Result<Redefined> {
        let served = self.core.served(network);
        let why = explained("rolled back by an operator", &[why]);
        let answer = async { self.serve_roll_back(network, served?, to, Chooser::Operator, &why).await };
        self.core.observed("rollback", network, None, answer).await
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
        let policy = match self.core.ports.catalogue.find_pinned(&before.policy) {
            // The compilation may take minutes, in which a caller would be told nothing.
            Err(error) if error.code != ErrorCode::Preparing => {
                self.core.ports.catalogue.load(&before.policy).await?
            }
            found => found?,
        };
        let slot = self.core.networks.known(name).ok_or_else(|| unknown_network(name))?;
        let alone = slot.alone().await;
        if self.core.committer.choice(name).is_none_or(|now| now != served.now) {
            let cause = format_args!("the policy of network {name} has changed meanwhile");
            return Err(Error::new(ErrorCode::NothingBefore, cause));
        }
        let network = alone.state().as_ref().map(|served| Arc::clone(served.book.network()));
        let network = network.ok_or_else(|| unknown_network(name))?;
        let (config, definer) = (Arc::clone(&network.config), network.defined_by);
        let (why, requester) = (shortened(why), Requester::Operator);
        // The one that is returned to is not judged by the one that was left, which may have answered what must be refused.
        let wanted = Wanted { policy, by, why, watch: false, empty_state: false, config, definer, requester };
        self.exchange(alone, name, wanted, true).await
    }

    /// Rolls a watched network back from a choice, to a policy or the one before, or notes why that is not possible. A choice that
    /// was made since stays.
    pub(super) async fn roll_back_by_itself(
        &self,
        network: &NetworkName,
        bad: &Choice,
        to: Option<PolicyStamp>,
        why: &str,
    ) {
        let Ok(served) = self.core.served(network) else { return };
        if served.now != *bad {
            return;
        }
        let to = to.map(|PolicyStamp { name, digest }| PolicySelector { name, digest: digest.to_string() });
        let answer = self.serve_roll_back(network, served, to.as_ref(), Chooser::RollBack, why);
        match self.core.observed("rollback", network, None, answer).await {
            Ok(redefined) => {
                tracing::warn!(%network, policy = %redefined.after, why, "rolled back");
            }
            Err(error) => {
                tracing::error!(%network, %error, why, "cannot roll back");
                // The watch ends, so that this is not tried for ever; the benching of failing policies goes on.
                self.core.note_kept(network, bad, &format!("it cannot be rolled back: {error}"));
            }
        }
    }
}
