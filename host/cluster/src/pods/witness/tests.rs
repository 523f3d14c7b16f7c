use kube::Config;
use kube::runtime::watcher::Error;

use super::*;

#[tokio::test(start_paused = true)]
async fn only_the_api_server_ends_a_trouble_and_a_list_that_does_not_come_is_one() {
    // Another test of the program may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let pods = PodsOfNode::new(Client::try_from(config).unwrap());
    let troubles = || pods.trouble().unwrap_or_default();
    pods.follow(Event::Init);
    tokio::time::advance(LONGEST_LIST / 2).await;
    assert_eq!(troubles(), "");
    pods.interrupted(&Error::NoResourceVersion);
    let failure = troubles();
    pods.follow(Event::Init);
    assert!(!failure.is_empty() && troubles() == failure, "nobody has answered");
    pods.follow(Event::InitApply(ObjectMeta::default()));
    assert_eq!(troubles(), "");
    tokio::time::advance(LONGEST_LIST / 2).await;
    assert_eq!(troubles(), "the API server has not listed the pods of this node within 15 s");
    pods.follow(Event::InitDone);
    assert_eq!(troubles(), "");
}
