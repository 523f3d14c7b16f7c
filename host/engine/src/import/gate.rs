//! Refuses new owners while addresses of their network may be in use that the ledger does not know.
//!
//! Two things refuse them: a move that is open, and another IPAM that has addresses which the ledger does not account for,
//! whether they were never imported, came after the import, or after the network was removed. The comparison is made with the
//! network's turn, and again whenever the other IPAM's state has changed; owners that have their addresses are served without.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tenure_ledger::{Book, Fact, Move, MoveEnd, MoveFact, Moves};
use tenure_types::{
    ConditionName, DelegateName, Error, ErrorCode, Moment, NetworkConfig, NetworkName, Owner, Result,
};

use super::{NetworkImports, Unaccounted};
use crate::lock::hold;
use crate::network::slot::Served;
use crate::ports::{Compared, IsKnown, OtherIpams, Reservation};

/// How long a refusal is remembered of a network that does not exist, after the last call for it: longer than a kubelet waits before it tries again.
const UNASKED: Duration = Duration::from_secs(600);

/// The source of the address that an ADD would get.
#[derive(Debug, Clone)]
pub(crate) struct ExpectedSource {
    /// The delegate that would be asked; `None` if the addresses are not a delegate's, or the ADD would be refused.
    pub(crate) delegate: Option<DelegateName>,
    /// The network's configuration: its own where a caller's does not count.
    pub(crate) config: Arc<NetworkConfig>,
}

impl NetworkImports {
    /// Serves [`Engine::compare_with_others`](crate::Engine::compare_with_others).
    pub(crate) fn compare_with_others(&self, others: Arc<dyn OtherIpams>) {
        *self.others.write().unwrap_or_else(PoisonError::into_inner) = Some(others);
    }

    /// Refuses a new owner while a move of the network is open: an address that has not come over yet may be in use.
    pub(crate) fn admits_beside_moves(&self, served: Option<&Served>) -> Result<()> {
        let Some(served) = served.filter(|served| served.book.is_importing()) else { return Ok(()) };
        let (name, node) = (served.book.name(), self.core.committer.node());
        let worst = node.moves.open(name).min_by_key(|open| served.is_importing_from(&open.source));
        let cause = match worst {
            Some(open) => told(name, open, served.is_importing_from(&open.source)),
            None if served.has_imports() => format!("an import of network {name} is in progress"),
            None => told(name, &by_an_older_program(name), false),
        };
        Err(Error::new(ErrorCode::NotTakenOver, cause))
    }

    /// Refuses a new owner while another IPAM has addresses of the network that the ledger does not account for. The caller has
    /// the network's turn, if the network exists. `source` is that of the owner's address, if it may be another than the present one of the network.
    pub(crate) async fn admits_beside_others(
        &self,
        name: &NetworkName,
        source: Option<ExpectedSource>,
    ) -> Result<()> {
        let Some(others) = self.others() else { return Ok(()) };
        // A network's delegate may be that other IPAM itself, which continues with its own addresses.
        let config = match source {
            Some(source) => Some(source.config).filter(|_| source.delegate.is_none()),
            None => self.config_without_delegate(name),
        };
        let Some(compared) = config.map(|config| self.compared(name, config)) else {
            self.is_accounted_for(name);
            return Ok(());
        };
        let refused = match others.is_unchanged(&compared) {
            true => None,
            false => others.look(&compared, self.is_known(name)).await.err(),
        };
        let asked = self.core.ports.clock.monotonic();
        self.note_unaccounted(compared, asked, refused.as_ref());
        refused.map_or(Ok(()), Err)
    }

    /// Serves [`Engine::compare_again`](crate::Engine::compare_again).
    pub(crate) async fn compare_again(&self) {
        let Some(others) = self.others() else { return };
        let now = self.core.ports.clock.monotonic();
        // Nobody may come to ask again: the network was removed, or its configuration was a mistake.
        let exists = |name: &NetworkName| {
            self.core.networks.get(name).is_some_and(|slot| slot.state().as_ref().is_some())
        };
        let all: Vec<(Compared, Duration)> =
            hold(&self.unaccounted).values().map(|of| (of.compared.clone(), of.asked)).collect();
        let (refused, mistaken): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(of, asked)| now.saturating_sub(*asked) < UNASKED || exists(&of.network));
        for (of, _) in mistaken {
            self.is_accounted_for(&of.network);
        }
        // Beside one another: one look may take its whole time, and conditions are late by that.
        let looks = refused.into_iter().map(async |(before, asked)| {
            let compared = self.compared(&before.network, before.config);
            let refused = others.look(&compared, self.is_known(&compared.network)).await.err();
            self.note_unaccounted(compared, asked, refused.as_ref());
        });
        join_all(looks).await;
    }

    /// Updates the conditions about open moves, and about networks that another IPAM has addresses of.
    pub(crate) fn look_at_moves(&self) {
        let mut unfinished: Vec<(String, String)> = Vec::new();
        for (name, slot) in self.core.networks.all() {
            let state = slot.state();
            let Some(served) = state.as_ref().filter(|served| served.book.is_importing()) else { continue };
            let node = self.core.committer.node();
            let mut open: Vec<Move> = node.moves.open(&name).cloned().collect();
            drop(node);
            if open.is_empty() {
                open.push(by_an_older_program(&name));
            }
            unfinished.extend(open.iter().map(|open| {
                let subject = format!("{name}/{}", open.source);
                (subject, told(&name, open, served.is_importing_from(&open.source)))
            }));
        }
        let unaccounted = hold(&self.unaccounted);
        unfinished.extend(unaccounted.iter().map(|(name, of)| (name.to_string(), of.why.clone())));
        drop(unaccounted);
        self.core.conditions.replace(ConditionName::MoveUnfinished, unfinished);
    }

    pub(super) fn others(&self) -> Option<Arc<dyn OtherIpams>> {
        self.others.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The network's present configuration; `None` if a delegate serves the network, or the network is unknown.
    fn config_without_delegate(&self, name: &NetworkName) -> Option<Arc<NetworkConfig>> {
        let slot = self.core.networks.get(name)?;
        let config = Arc::clone(&slot.state().as_ref()?.book.network().config);
        let choice = self.core.committer.choice(name);
        let is_delegated = choice.is_some_and(|choice| choice.policy.name.delegate().is_some());
        Some(config).filter(|_| !is_delegated)
    }

    /// The comparison of a network with this configuration.
    fn compared(&self, name: &NetworkName, config: Arc<NetworkConfig>) -> Compared {
        let node = self.core.committer.node();
        let sources = node.moves.sources(name).map(Arc::clone).collect();
        let (removals, now_ms) = (self.core.networks.removals(), self.core.now().wall_ms);
        Compared { network: name.clone(), config, sources, removals, now_ms }
    }

    /// Remembers why a network is refused, if it is.
    fn note_unaccounted(&self, compared: Compared, asked: Duration, refused: Option<&Error>) {
        match refused {
            Some(error) => {
                let (name, why) = (compared.network.clone(), error.cause.clone());
                hold(&self.unaccounted).insert(name, Unaccounted { compared, why, asked });
            }
            None => self.is_accounted_for(&compared.network),
        }
    }

    /// Forgets that a network was refused.
    pub(crate) fn is_accounted_for(&self, name: &NetworkName) {
        hold(&self.unaccounted).remove(name);
    }

    fn is_known(&self, name: &NetworkName) -> IsKnown {
        let (networks, committer) = (Arc::clone(&self.core.networks), Arc::clone(&self.core.committer));
        let name = name.clone();
        Box::new(move |Reservation { address, claim, claimed_at_ms, owner }| {
            let slot = networks.get(&name);
            let in_book = |has: &dyn Fn(&Book) -> bool| {
                slot.as_ref()
                    .is_some_and(|slot| slot.state().as_ref().is_some_and(|served| has(&served.book)))
            };
            if in_book(&|book| book.has_come_over(*address, claim))
                || committer.was_settled(&name, *address, claim)
            {
                return true;
            }
            // Only now, since it may read a file.
            let owner = owner();
            let is_over = |owner: &Owner| committer.node().moves.is_over(&name, owner, *claimed_at_ms);
            in_book(&|book| book.has(owner.as_ref(), *address)) || owner.as_ref().is_some_and(is_over)
        })
    }
}

/// The move that a program began which did not record whose it was.
pub(super) fn by_an_older_program(network: &NetworkName) -> Move {
    let (network, source, by) = (network.clone(), Arc::from(""), Box::default());
    Move { network, source, by, entries: 0, reached: 0, at: Moment::default() }
}

/// The ends of the moves of a network that an older program has ended, which it did not record.
pub(crate) fn ended_elsewhere(book: &Book, moves: &Moves, at: Moment) -> Vec<Fact> {
    let ended = |open: &Move| {
        let (network, source) = (open.network.clone(), Arc::clone(&open.source));
        let (end, why) = (MoveEnd::Finished, "by an older program".into());
        Fact::from(MoveFact::Ended { network, source, end, why, at })
    };
    match book.is_importing() {
        true => Vec::new(),
        false => moves.open(book.name()).map(ended).collect(),
    }
}

/// An open move, for people: from what, who began it, what is missing, and what to do.
fn told(name: &NetworkName, open: &Move, under_way: bool) -> String {
    let Move { source, by, entries, reached, .. } = open;
    let from = match &**source {
        "" => "an unknown source".to_owned(),
        source => source.to_owned(),
    };
    let by = if by.is_empty() { String::new() } else { format!(", begun by {by}") };
    let missing = match entries {
        0 => format!("after {reached} entries"),
        entries => format!("after {reached} of {entries} entries"),
    };
    match under_way {
        true => format!("an import of network {name} from {from}{by} is in progress, {missing}"),
        false => format!(
            "an import of network {name} from {from}{by} was interrupted {missing}; run the same `tenurectl import --apply` again, \
             or, if the source is gone and nothing is missing, `tenurectl import abandon {name}`"
        ),
    }
}
