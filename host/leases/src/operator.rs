//! The operator's side: granting blocks, taking them back with the holder's consent, and taking them from the dead.
//!
//! Nothing here rests on there being one leader. Two of them may grant too much, which comes back as excess; the name of an IPBlock keeps them
//! from granting one block twice, and a resourceVersion in each write keeps the late one from undoing the other's work. What a leader knows
//! besides the objects is its barrier and the marks that it wrote itself ([`barrier`]); a successor begins without them.

pub mod account;
pub mod barrier;
pub mod claim;
pub mod fence;
pub mod grant;
pub mod held;
pub mod quarantine;
pub mod release;
pub mod shrink;
pub mod signs;
