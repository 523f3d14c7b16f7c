use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::*;
use crate::NodeIPAM;
use crate::away::AbsentServer;

/// The requests of so many watches within each second after an API server is back that was away for so long.
async fn spread(watches: u64, away: Duration) -> BTreeMap<u64, usize> {
    let server = AbsentServer::new(Duration::from_secs(30), away, BTreeMap::new());
    let client = server.client();
    let mut running = JoinSet::new();
    for seed in 0..watches {
        let config = Config::default().fields("metadata.name=n1");
        let mut events = relisting(Api::<NodeIPAM>::all(client.clone()), config, Jitter::new(seed));
        running.spawn(async move { while events.next().await.is_some() {} });
    }
    server.back_for(LONGEST_PAUSE * 2).await;
    server.by_second("GET /apis/ipam.tenure.dev/v1alpha1/nodeipams")
}

#[tokio::test(start_paused = true)]
async fn the_watches_of_a_thousand_nodes_do_not_return_at_once_after_an_hour_without_the_api_server() {
    let seconds = spread(1000, Duration::from_secs(3600)).await;
    assert_eq!(seconds.values().sum::<usize>(), 1000, "each lists once: {seconds:?}");
    assert!(seconds.values().all(|lists| *lists <= 100), "more than a tenth within a second: {seconds:?}");
}

#[tokio::test(start_paused = true)]
async fn nor_after_a_minute() {
    let seconds = spread(1000, Duration::from_secs(60)).await;
    assert_eq!(seconds.values().sum::<usize>(), 1000, "each lists once: {seconds:?}");
    assert!(seconds.values().all(|lists| *lists <= 150), "more than a seventh within a second: {seconds:?}");
}
