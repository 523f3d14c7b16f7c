//! Addresses of a pod that another one of the same name has replaced.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_engine::Settings;
use tenure_engine::ports::{Answer, Predecessors};
use tenure_types::{Allocation, Error, ErrorCode, Moment, Owner, PodIdentity};

use crate::support::{Bench, fits, owner};

/// Whether the sandboxes of predecessors are gone, and which it was asked about.
#[derive(Default)]
struct Runtime {
    are_gone: AtomicBool,
    asked: Mutex<Vec<Owner>>,
    freed: Mutex<Vec<Owner>>,
}

impl Predecessors for Runtime {
    fn gone<'a>(&'a self, held: &'a [Arc<Allocation>], _: Moment) -> Answer<'a, Vec<Arc<Allocation>>> {
        self.asked.lock().unwrap().extend(held.iter().map(|held| held.owner.clone()));
        let gone = if self.are_gone.load(Ordering::Relaxed) { held.to_vec() } else { Vec::new() };
        Box::pin(async { Ok(gone) })
    }

    fn freed(&self, held: &Allocation) {
        self.freed.lock().unwrap().push(held.owner.clone());
    }
}

impl Bench {
    async fn address_of_pod(&self, number: u32, [namespace, name, uid]: [&str; 3]) -> Result<String, Error> {
        let mut add = self.add(number);
        let pod = PodIdentity { namespace: namespace.into(), name: name.into(), uid: uid.into() };
        add.request.sandbox.pod = Some(pod);
        Ok(self.engine.add(add, fits).await?.addresses[0].ip().to_string())
    }
}

#[tokio::test]
async fn an_add_that_finds_nothing_gets_what_its_predecessor_has_and_no_other_pod() {
    let (bench, runtime) = (Bench::new(8, 8), Arc::new(Runtime::default()));
    bench.engine.set(Settings { cooldown: Duration::ZERO, ..bench.engine.settings().as_ref().clone() });
    bench.engine.prove_predecessors(Arc::clone(&runtime) as _);
    let pods = [
        ["shop", "web-0", "old"],
        ["bank", "web-0", "a"],
        ["shop", "web-1", "b"],
        ["shop", "web-0", ""],
        ["shop", "web-0", "new"],
    ];
    for (number, pod) in (1..).zip(pods) {
        bench.address_of_pod(number, pod).await.unwrap();
    }
    let code = |answer: Result<String, Error>| answer.unwrap_err().code;
    let unnamed = bench.address_of_pod(6, ["shop", "web-0", ""]).await;
    assert_eq!(code(unnamed), ErrorCode::PoolExhausted);
    assert_eq!(*runtime.asked.lock().unwrap(), [], "nobody knows which pod it is");

    let early = bench.address_of_pod(6, ["shop", "web-0", "new"]).await;
    assert_eq!(code(early), ErrorCode::PoolExhausted, "the old sandbox may be there");
    assert_eq!(*runtime.asked.lock().unwrap(), [owner(1)]);
    assert_eq!(*runtime.freed.lock().unwrap(), []);

    runtime.are_gone.store(true, Ordering::Relaxed);
    assert_eq!(bench.address_of_pod(6, ["shop", "web-0", "new"]).await.unwrap(), "10.0.0.2");
    assert_eq!(*runtime.freed.lock().unwrap(), [owner(1)]);
    let further = bench.address_of_pod(7, ["shop", "web-0", "new"]).await;
    assert_eq!(code(further), ErrorCode::PoolExhausted);
    assert_eq!(*runtime.freed.lock().unwrap(), [owner(1)], "it has no other predecessor");
}
