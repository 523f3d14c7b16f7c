//! The turns of several networks at once, of which none is held while another is waited for: a network whose policy works keeps
//! no other network waiting.

use crate::network::networks::Entered;
use crate::network::slot::Alone;

/// How many networks in turn are waited for.
const MOST_WAITS: usize = 64;

/// The turns of several networks.
pub(super) struct Together<'slot> {
    /// In the order of the networks.
    pub(super) turns: Vec<Alone<'slot>>,
    /// Whether the turn that the caller had was given up meanwhile.
    pub(super) waited: bool,
}

/// Takes the turns of all networks, of which the caller has the one at `index`; `None` if they are too busy.
pub(super) async fn together<'slot>(
    slots: &'slot [Entered<'_>],
    mut index: usize,
    mut turn: Alone<'slot>,
) -> Option<Together<'slot>> {
    for waits in 0..=MOST_WAITS {
        let busy = match all(slots, index, turn) {
            Ok(turns) => return Some(Together { turns, waited: waits > 0 }),
            Err(busy) => busy,
        };
        (index, turn) = (busy, slots.get(busy)?.alone().await);
    }
    None
}

/// The turns of all networks, or the first that somebody else has.
fn all<'slot>(
    slots: &'slot [Entered<'_>],
    index: usize,
    turn: Alone<'slot>,
) -> Result<Vec<Alone<'slot>>, usize> {
    let mut own = Some(turn);
    let turns = slots.iter().enumerate().map(|(place, slot)| {
        let own = own.take_if(|_| place == index);
        own.or_else(|| slot.try_alone()).ok_or(place)
    });
    turns.collect()
}
