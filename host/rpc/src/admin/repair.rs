//! Repair: releases the reported allocations whose sandbox is still found to be gone.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_runtime::SandboxEvidence;
use tenure_types::{Allocation, End, Result};

use super::books::books;
use super::node::AdminNode;
use crate::v1;

/// Looks for each allocation's sandbox again, and releases the allocations whose sandbox two sources confirm to be gone.
pub(super) async fn repair(
    engine: &Engine,
    node: &dyn AdminNode,
    request: &v1::RepairRequest,
) -> Result<v1::RepairResponse> {
    let books = books(engine).await;
    let find = |meant: &v1::AllocationRef| {
        let book = books.iter().find(|book| book.network().name.as_str() == meant.network)?;
        book.allocations().find(|held| held.generation.0 == meant.generation).cloned()
    };
    let found: Vec<Option<Arc<Allocation>>> = request.allocations.iter().map(find).collect();
    let held: Vec<Arc<Allocation>> = found.iter().flatten().cloned().collect();
    let mut evidence = node.look_for(&held).await.0.into_iter();
    let mut outcomes = Vec::new();
    for held in found {
        let outcome = match held {
            None => outcome("ended", ""),
            Some(held) if !evidence.next().is_some_and(SandboxEvidence::proves_gone) => {
                outcome("kept", &format!("{} is not confirmed to be gone", held.owner))
            }
            Some(_) if !request.apply => outcome("released", ""),
            Some(held) if engine.reap(&held, End::Repair, "").await? => outcome("released", ""),
            Some(_) => outcome("ended", ""),
        };
        outcomes.push(outcome);
    }
    Ok(v1::RepairResponse { outcomes })
}

fn outcome(outcome: &str, reason: &str) -> v1::RepairOutcome {
    v1::RepairOutcome { outcome: outcome.to_owned(), reason: reason.to_owned() }
}
