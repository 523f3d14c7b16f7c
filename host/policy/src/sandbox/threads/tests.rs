use std::sync::mpsc;
use std::thread::ThreadId;

use rustix::process::getpriority_process;

use super::*;

fn job(policy: &str, work: impl FnOnce(&Arc<Seat>) + Send + 'static) -> Job {
    Job { policy: policy.into(), work: Box::new(work) }
}

/// Makes a call that reports its thread and priority.
fn ran_on(threads: &Threads) -> (ThreadId, i32) {
    let (sender, receiver) = mpsc::channel();
    threads.run(job("p", move |_| sender.send(this_thread()).unwrap()));
    receiver.recv().unwrap()
}

fn this_thread() -> (ThreadId, i32) {
    (std::thread::current().id(), getpriority_process(None).unwrap())
}

fn wait_until(threads: &Threads, what: impl Fn(&ThreadsState) -> bool) {
    while !what(&threads.0.lock()) {
        std::thread::yield_now();
    }
}

#[test]
fn a_thread_is_used_again_unless_its_call_panicked() {
    let threads = Threads::new(4, 3, Priority::Usual);
    let first = ran_on(&threads);
    wait_until(&threads, |state| state.idle == 1);
    assert_eq!(ran_on(&threads), first);
    // Otherwise another thread might be started for the call, and stay.
    wait_until(&threads, |state| state.idle == 1);
    threads.run(job("p", |_| panic!("on purpose")));
    wait_until(&threads, |state| state.threads == 0);
    assert!(threads.0.lock().running.is_empty());
}

#[test]
fn whoever_takes_the_seat_of_one_that_gives_way_has_the_usual_priority() {
    let (_, usual) = this_thread();
    let threads = Threads::new(1, 1, Priority::Usual);
    let (release, released) = mpsc::channel::<()>();
    let (sender, slow) = mpsc::channel();
    threads.run(job("slow", move |seat| {
        released.recv().unwrap();
        seat.give_way();
        sender.send(this_thread()).unwrap();
        released.recv().unwrap();
    }));
    let (sender, receiver) = mpsc::channel();
    for policy in ["slow", "quick"] {
        let sender = sender.clone();
        threads.run(job(policy, move |_| sender.send((policy, this_thread())).unwrap()));
    }
    wait_until(&threads, |state| state.threads == 1 && state.waiting.len() == 2);
    release.send(()).unwrap();
    let (demoted, last) = slow.recv().unwrap();
    assert_eq!(last, processor::LAST);
    let (policy, (thread, priority)) = receiver.recv().unwrap();
    assert_eq!((policy, priority), ("quick", usual), "the slow call is still running");
    assert_ne!(thread, demoted);
    release.send(()).unwrap();
    let (policy, (thread, priority)) = receiver.recv().unwrap();
    assert_eq!((policy, priority), ("slow", usual), "it had waited for its policy's share");
    assert_ne!(thread, demoted);
    wait_until(&threads, |state| state.threads == 1 && state.running.is_empty());
}

#[test]
fn threads_of_the_last_priority_have_it_before_their_first_call_and_are_used_again() {
    let threads = Threads::new(4, 3, Priority::Last);
    let (sender, receiver) = mpsc::channel();
    threads.run(job("slow", move |seat| {
        let before = this_thread();
        seat.give_way();
        sender.send(before).unwrap();
    }));
    let first = receiver.recv().unwrap();
    assert_eq!(first.1, processor::LAST);
    wait_until(&threads, |state| state.idle == 1);
    assert_eq!(ran_on(&threads), first);
}

#[test]
fn the_calls_of_one_policy_leave_room_for_anothers() {
    let threads = Threads::new(4, 3, Priority::Usual);
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    for _ in 0..20 {
        let released = Arc::clone(&released);
        threads.run(job("slow", move |_| released.lock().unwrap().recv().unwrap()));
    }
    wait_until(&threads, |state| state.running.values().sum::<u32>() == 3);
    let (sender, receiver) = mpsc::channel();
    for number in 0..50 {
        let sender = sender.clone();
        threads.run(job("quick", move |_| sender.send(number).unwrap()));
    }
    let mut answered: Vec<i32> = (0..50).map(|_| receiver.recv().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (0..50).collect::<Vec<_>>());
    assert_eq!(threads.0.lock().waiting.len(), 17, "the other slow calls still wait");
    for _ in 0..20 {
        release.send(()).unwrap();
    }
    wait_until(&threads, |state| state.waiting.is_empty() && state.running.is_empty());
}

#[test]
fn on_a_single_thread_policies_take_turns() {
    let threads = Threads::new(1, 1, Priority::Last);
    let (release, released) = mpsc::channel::<()>();
    threads.run(job("slow", move |_| released.recv().unwrap()));
    wait_until(&threads, |state| state.waiting.is_empty());
    let (sender, receiver) = mpsc::channel();
    for policy in ["slow", "slow", "slow", "other", "third"] {
        let sender = sender.clone();
        threads.run(job(policy, move |_| sender.send(policy).unwrap()));
    }
    release.send(()).unwrap();
    let order: Vec<_> = (0..5).map(|_| receiver.recv().unwrap()).collect();
    assert_eq!(order, ["other", "slow", "third", "slow", "slow"]);
}

#[test]
fn a_slow_policy_does_not_wait_for_another() {
    let threads = Threads::new(3, 1, Priority::Last);
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    for _ in 0..2 {
        let released = Arc::clone(&released);
        threads.run(job("endless", move |_| _ = released.lock().unwrap().recv()));
    }
    wait_until(&threads, |state| state.running.values().sum::<u32>() == 1);
    let (sender, receiver) = mpsc::channel();
    threads.run(job("slow", move |_| sender.send(()).unwrap()));
    receiver.recv().unwrap();
    assert_eq!(threads.0.lock().waiting.len(), 1, "the other call of the endless one still waits");
    drop(release);
    wait_until(&threads, |state| state.waiting.is_empty() && state.running.is_empty());
}
