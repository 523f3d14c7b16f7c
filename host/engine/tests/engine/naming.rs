//! Which version of a policy serves while its name stands for another one, or for none.

use tenure_engine::ports::Offered;
use tenure_types::{ErrorCode, PolicyName};

use crate::support::{Bench, activate, network};
use crate::versions::bench;

impl Bench {
    /// An ADD that has to succeed; returns the version that served it.
    async fn served_by(&self, number: u32) -> String {
        assert_eq!(self.add_mine(number).await, Ok(()));
        self.digest()
    }

    /// Has the policy serve the network from its first ADD on.
    async fn serves_from_the_first_add(&self) {
        assert_eq!(self.add_mine(1).await, Err(ErrorCode::Preparing));
        self.checked().await;
        assert_eq!(self.served_by(1).await, "first");
    }
}

/// A watched file's content is exchanged by itself, with a watch over it.
#[tokio::test]
async fn a_definition_takes_another_version_of_its_policy_unless_its_file_is_watched() {
    for (watched, then) in [(false, "last"), (true, "first")] {
        let (bench, versions) = bench("first", watched);
        bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
        assert_eq!(bench.digest(), "first");
        *versions.stands_for.lock().unwrap() = "last";
        bench.define_versioned(&network(), "10.0.0.0/24").await.unwrap();
        assert_eq!(bench.digest(), then, "watched: {watched}");
    }
}

#[tokio::test]
async fn a_load_is_no_exchange() {
    let (bench, versions) = bench("first", false);
    bench.serves_from_the_first_add().await;
    let name = PolicyName::new("mine").unwrap();
    let (bytes, signature, source) = (Vec::new(), String::new(), "a file".to_owned());
    let offered = Offered { name, bytes, sha256: "last".into(), signature, source, older: false };
    bench.engine.load_policy(offered).await.unwrap();
    *versions.stands_for.lock().unwrap() = "last";
    for number in [2, 4] {
        assert_eq!(bench.served_by(number).await, "first", "nobody has activated it");
        bench.checked().await;
    }
    bench.engine.activate(&activate("mine")).await.unwrap();
    assert_eq!(bench.served_by(3).await, "last");
}

#[tokio::test]
async fn a_name_that_cannot_be_loaded_keeps_its_version_serving_and_one_that_is_gone_does_not() {
    let (bench, versions) = bench("first", false);
    bench.serves_from_the_first_add().await;
    *versions.stands_for.lock().unwrap() = "broken";
    assert_eq!(bench.served_by(2).await, "first");
    *versions.stands_for.lock().unwrap() = "missing";
    assert_eq!(bench.add_mine(3).await, Err(ErrorCode::UnknownPolicy));
}

#[tokio::test]
async fn a_policy_that_is_loaded_serves_on_although_the_nodes_copy_of_it_is_lost() {
    let (bench, versions) = bench("first", true);
    bench.serves_from_the_first_add().await;
    *versions.lost.lock().unwrap() = true;
    assert_eq!(bench.served_by(2).await, "first", "its name stands for it");

    *versions.lost.lock().unwrap() = false;
    *versions.stands_for.lock().unwrap() = "last";
    bench.engine.activate(&activate("mine")).await.unwrap();
    *versions.lost.lock().unwrap() = true;
    *versions.stands_for.lock().unwrap() = "missing";
    assert_eq!(bench.served_by(3).await, "last", "an operator has chosen it");
}
