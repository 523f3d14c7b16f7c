//! The writer's thread: how it is asked to end, and what it says once it has ended.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use tenure_engine::ports::{Images, Observer};
use tenure_fixtures::ports::{OnSync, Silent};

use super::fixture::{Memory, Node, answer, options, plain};
use crate::sim::SimDisk;
use crate::{CheckpointJournal, Options, RunningWriter};

/// A node whose writer runs in its thread; this observer hears of each sync there.
fn running(observer: Arc<dyn Observer>) -> (RunningWriter, CheckpointJournal, Memory) {
    let disk = SimDisk::new(0);
    let Node { writer, journal, memory } = Node::start_with(&disk, Options { observer, ..options(&disk, 1) });
    let running = writer.run(Arc::new(memory.clone()) as Arc<dyn Images>).unwrap();
    (running, journal, memory)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn a_thread_that_is_asked_to_stop_writes_what_is_staged_and_ends() {
    let (mut running, journal, memory) = running(Arc::new(Silent));
    let define = memory.define(&journal, &plain(0));
    running.stop();
    assert_eq!(runtime().block_on(running.ended()), Ok(()));
    assert_eq!(answer(define), Some(Ok(())));
    assert_eq!(runtime().block_on(running.ended()), Ok(()), "asked again");
}

/// Waiting for the end holds no one else up, not even in the same thread.
#[test]
fn a_thread_that_panics_says_why() {
    let (mut running, journal, memory) = running(Arc::new(OnSync(|_| panic!("the observer broke"))));
    let runtime = runtime();
    let meanwhile = runtime.spawn(async move { memory.define(&journal, &plain(0)) });
    let ended = runtime.block_on(running.ended());
    assert_eq!(ended, Err("the observer broke".to_owned()));
    let define = runtime.block_on(meanwhile).unwrap();
    assert!(answer(define).is_some_and(|answer| answer.is_err()));
}

#[test]
fn nobody_waits_for_a_thread_that_hangs_once_it_is_left() {
    let (go_on, hangs) = mpsc::channel::<()>();
    let hangs: Mutex<Receiver<()>> = Mutex::new(hangs);
    let observer = OnSync(move |_| _ = hangs.lock().unwrap().recv());
    let (running, journal, memory) = running(Arc::new(observer));
    drop(memory.define(&journal, &plain(0)));
    running.leave();
    drop(go_on);
}
