//! The daemon's status: whether it serves ADD, its conditions, and its figures.

use tenure_engine::Engine;
use tenure_types::Condition;

use super::books::books;
use super::node::AdminNode;
use super::shown::count;
use crate::v1;

pub(super) async fn status(engine: &Engine, node: &dyn AdminNode) -> v1::GetStatusResponse {
    engine.look_at_networks();
    let wrong = engine.whats_wrong();
    let state = wrong.first().map_or("ready", |worst| worst.name.severity().name());
    let books = books(engine).await;
    let (log_bytes, snapshot_bytes) = node.checkpoint_bytes();
    let load = engine.load();
    v1::GetStatusResponse {
        state: state.to_owned(),
        reasons: wrong.iter().map(ToString::to_string).collect(),
        version: node.version().to_owned(),
        boot_id: node.boot_id().to_owned(),
        uptime_ms: node.uptime_ms(),
        networks: count(books.len()),
        allocations: books.iter().map(|book| book.allocations().len() as u64).sum(),
        cooling: books.iter().map(|book| book.cooling_addresses().len() as u64).sum(),
        in_flight: count(load.in_flight),
        queued: count(load.queued),
        state_dir: node.state_dir().display().to_string(),
        log_bytes,
        snapshot_bytes,
        conditions: wrong.into_iter().map(condition).collect(),
    }
}

fn condition(condition: Condition) -> v1::Condition {
    let Condition { name, subject, message, since } = condition;
    v1::Condition {
        name: name.to_string(),
        severity: name.severity().to_string(),
        subject,
        message,
        since_ms: since.wall_ms,
        next_step: name.next_step().to_owned(),
    }
}
