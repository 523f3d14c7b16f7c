//! State shared by the tasks of an executor.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_ledger::Intent;
use tenure_types::hold;
use tokio::sync::{Notify, watch};

use crate::begun::BegunIntents;
use crate::ids::NumberedIds;
use crate::status::{IntentStatus, PlanStatus, Progress};
use crate::tools::Tools;
use crate::wing::Wing;

/// State shared by the tasks of an executor.
pub(crate) struct Core<W> {
    pub(crate) tools: Tools,
    pub(crate) wing: W,
    pub(crate) ids: NumberedIds,
    pub(crate) begun: BegunIntents,
    /// Counts what has happened that others may want to see.
    changes: watch::Sender<u64>,
    /// Never held across a wait.
    memory: Mutex<TaskMemory>,
    /// Somebody wants a plan made now.
    pub(crate) plan_now: Notify,
    /// Counts the plans.
    pub(crate) planned: watch::Sender<u64>,
}

/// An executor's memory of its intents and plans.
#[derive(Debug, Default)]
pub(crate) struct TaskMemory {
    /// Current step of each intent, in words, and when it began.
    pub(crate) steps: BTreeMap<String, (String, Duration)>,
    pub(crate) plan: Option<PlanStatus>,
    /// The refusals and the reason of the last plan, as they were logged.
    pub(crate) told: BTreeSet<String>,
    /// How far the network's book was, and when, if there was nothing to plan then.
    pub(crate) rests: Option<(u64, Duration)>,
    /// Ends of intents by kind and outcome.
    pub(crate) ends: BTreeMap<(&'static str, &'static str), u64>,
}

impl<W> Core<W> {
    pub(crate) fn new(tools: Tools, wing: W, ids: NumberedIds) -> Self {
        Self {
            tools,
            wing,
            ids,
            begun: BegunIntents::default(),
            changes: watch::Sender::new(0),
            memory: Mutex::default(),
            plan_now: Notify::new(),
            planned: watch::Sender::new(0),
        }
    }

    /// Something has happened that others may want to see.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Follows what happens.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, TaskMemory> {
        hold(&self.memory)
    }

    /// The intents and the last plan.
    pub(crate) fn progress(&self) -> Progress {
        let open = self.tools.open();
        let memory = self.memory();
        let intent = |intent: &Arc<Intent>| IntentStatus {
            id: intent.id.to_string(),
            kind: intent.kind.name(),
            attributes: intent.attributes.clone(),
            since: intent.since,
            step: memory.steps.get(intent.id.as_str()).cloned(),
        };
        Progress {
            intents: open.iter().map(intent).collect(),
            plan: memory.plan.clone(),
            ends: memory.ends.clone(),
        }
    }
}

impl<W: Wing> Core<W> {
    /// A wait, jittered.
    pub(crate) async fn rest(&self, wait: Duration) {
        self.tools.sleep(self.wing.jittered(wait)).await;
    }
}
