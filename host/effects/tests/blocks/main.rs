//! A second wing over the same executor: made-up blocks, leased from a server. What the cluster's wing will look like.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "test helpers are part of the tests")]

mod crashes;
mod node;
mod server;
mod usual;
mod wing;
