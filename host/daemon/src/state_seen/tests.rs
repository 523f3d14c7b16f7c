use tenure_types::BootId;

use super::*;

fn boot(id: &str) -> BootId {
    BootId(id.to_owned())
}

/// The durable state after this many facts.
fn durable(fact: u64) -> Durable {
    Durable { fact, log: 1, length: 100 + fact * 10, group: 10, checksum: 1 }
}

/// A node, represented by its run directory.
struct Node {
    directory: tempfile::TempDir,
    boot: BootId,
}

impl Node {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), boot: boot("a") }
    }

    fn mark(&self) -> Mark {
        Mark::read(self.directory.path(), &self.boot).unwrap()
    }

    /// Starts on a state with this many facts; `whole` says whether recovery finds everything that the mark names.
    fn start(&self, facts: u64, whole: bool) -> StateSeen {
        let mark = self.mark();
        let looked_for = mark.durable().is_some_and(|durable| durable.fact > 0);
        let report = RecoveryReport { last: facts, lost: looked_for && !whole, ..RecoveryReport::default() };
        let state = StateSeen::new(Pen::new(self.directory.path(), &self.boot), mark, &report);
        state.durable(&durable(facts));
        state
    }
}

#[test]
fn nothing_is_lost_where_nothing_was_recorded() {
    let node = Node::new();
    assert!(!node.start(0, false).is_lost());
    assert!(!node.start(0, false).is_lost(), "nothing was ever handed out");
    assert!(!node.start(5, false).is_lost(), "so a state that appears now cannot be the wrong one");
}

#[test]
fn what_was_recorded_must_be_there() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    assert_eq!(node.mark(), Mark::Seen(Some(durable(3))), "it is marked before any request is answered");
    assert!(!node.start(3, true).is_lost());
    assert!(!node.start(4, true).is_lost(), "killed between the sync and the mark");
    assert_eq!(node.mark(), Mark::Seen(Some(durable(4))));
    assert!(node.start(0, false).is_lost());
    assert!(node.start(3, false).is_lost());
    assert!(node.start(9, false).is_lost(), "longer, but a different state");
}

#[test]
fn a_boot_ends_what_could_be_missed() {
    let mut node = Node::new();
    node.start(0, true).durable(&durable(3));
    node.boot = boot("b");
    assert!(!node.start(0, false).is_lost());
}

#[test]
fn the_right_state_is_known_when_it_comes_back() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    for _ in 0..2 {
        assert!(node.start(1, false).is_lost());
    }
    assert!(!node.start(3, true).is_lost());
}

/// Regression: nobody wrote it again, and the next start took the wrong state for the node's.
#[test]
fn what_is_deleted_while_the_state_is_lost_is_put_back_as_it_was() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    let claims = node.directory.path().join("claims-seen");
    std::fs::write(&claims, "some claims").unwrap();
    for is_recorded in [false, true] {
        let lost = node.start(1, false);
        std::fs::remove_dir_all(node.directory.path()).unwrap();
        lost.durable(&durable(1));
        assert_eq!(node.mark(), Mark::None, "the directory is gone");
        std::fs::create_dir(node.directory.path()).unwrap();
        lost.durable(&durable(1 + u64::from(is_recorded)));
        assert_eq!(std::fs::read_to_string(&claims).unwrap(), "some claims");
        assert!(node.start(1, false).is_lost());
        assert_eq!(node.start(3, true).is_lost(), is_recorded, "the right state comes back");
    }
    // A mark that says so, too.
    let lost = node.start(2, true);
    std::fs::remove_file(node.directory.path().join("state-seen")).unwrap();
    lost.durable(&durable(2));
    assert_eq!(node.mark(), Mark::Lost);
}

#[test]
fn no_state_is_the_right_one_once_another_has_a_record() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    node.start(1, false).durable(&durable(2));
    assert_eq!(node.mark(), Mark::Lost);
    assert!(node.start(3, true).is_lost(), "it lacks what was recorded meanwhile");
    assert!(node.start(2, true).is_lost(), "it lacks what was recorded before");
}

#[test]
fn what_was_lost_stays_lost_until_it_is_confirmed() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    let lost = node.start(1, false);
    lost.durable(&durable(2));
    assert!(lost.is_lost());
    assert!(lost.adopt().unwrap());
    assert!(!lost.adopt().unwrap(), "there is nothing left to confirm");
    assert_eq!(node.mark(), Mark::Seen(Some(durable(2))));
    assert!(!node.start(2, true).is_lost());
    assert!(node.start(1, false).is_lost(), "lost again");
}

#[test]
fn an_empty_state_is_adopted_as_one() {
    let node = Node::new();
    node.start(0, true).durable(&durable(3));
    assert!(node.start(0, false).adopt().unwrap());
    assert!(!node.start(0, false).is_lost());
}

#[test]
fn what_an_older_daemon_or_nobody_could_have_marked_is_taken_with_care() {
    for (text, records, lost) in [
        ("a seen\n", 3, false),
        ("a seen\n", 0, true),
        ("a lost\n", 3, true),
        ("b lost\n", 0, false),
        ("", 3, true),
        ("00000000 a seen torn", 3, true),
    ] {
        let node = Node::new();
        std::fs::write(node.directory.path().join("state-seen"), text).unwrap();
        let state = node.start(records, true);
        assert_eq!(state.is_lost(), lost, "{text:?} and {records} records");
        if lost {
            assert!(node.start(records, true).is_lost(), "{text:?}: a restart proves nothing");
            assert!(state.adopt().unwrap());
            assert!(!node.start(records, true).is_lost());
        }
    }
}

#[test]
fn nothing_is_adopted_before_anything_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let state =
        StateSeen::new(Pen::new(directory.path(), &boot("a")), Mark::Lost, &RecoveryReport::default());
    assert!(state.adopt().is_err() && state.is_lost());
}
