//! ADDs that end between their steps, and the task that undoes them.

use std::pin::pin;

use tenure_engine::Add;
use tenure_types::Link;

use crate::support::{Bench, fits, network, poll_once};

impl Bench {
    /// An ADD on a network whose policy counts.
    fn counted(&self, number: u32, link: Option<Link>) -> Add {
        let mut add = self.add_with(number, "counting", "10.0.0.0/28");
        add.request.sandbox.link = link.map(Box::new);
        add
    }

    /// The policy's state.
    async fn remembered(&self) -> String {
        let now = self.engine.states_of(&network()).await.unwrap().unwrap().now;
        String::from_utf8(now.bytes.to_vec()).unwrap()
    }
}

#[tokio::test]
async fn an_add_that_is_durable_holds_nobody_up_and_its_undo_leaves_the_policys_state() {
    let mut bench = Bench::new(8, 8);
    let link = Link { host: "eni-1".into(), mtu: 1400 };
    bench.links.hold();
    {
        let mut connecting = pin!(bench.engine.add(bench.counted(1, Some(link)), fits));
        assert!(poll_once(connecting.as_mut()).is_pending());
        let mut next = pin!(bench.engine.add(bench.counted(2, None), fits));
        assert!(poll_once(next.as_mut()).is_ready(), "it waits for nobody's link");
    }
    let mut undoing = pin!(bench.abandoned.take().unwrap().run());
    assert!(poll_once(undoing.as_mut()).is_pending());
    assert_eq!(bench.engine.book(&network()).await.unwrap().allocations().len(), 1, "the first was undone");
    assert_eq!(bench.remembered().await, "counting 2", "the second was decided with the first in mind");
}

#[tokio::test]
async fn the_task_that_undoes_ends_with_its_engine() {
    let Bench { engine, abandoned, .. } = Bench::new(8, 8);
    let mut undoing = pin!(abandoned.unwrap().run());
    assert!(poll_once(undoing.as_mut()).is_pending());
    drop(engine);
    assert!(poll_once(undoing.as_mut()).is_ready());
}
