//! Metrics and health over HTTP, which the daemon can do without: an address that cannot be had is tried again.

use std::sync::Arc;
use std::time::Duration;

use tenure_observe::Metrics;
use tenure_observe::http::{self, Address};
use tenure_types::ConditionName;

use crate::node::Node;

/// How often an address is tried again, or a socket's file looked for.
const AGAIN: Duration = Duration::from_secs(2);

/// Serves scrapers until `stopped` says so, whatever becomes of the address meanwhile.
pub(crate) async fn serve<S: Future<Output = ()> + Send>(
    address: Address,
    node: Arc<Node>,
    metrics: Arc<Metrics>,
    stopped: impl Fn() -> S,
) {
    let conditions = Arc::clone(node.engine.conditions());
    loop {
        match http::Listener::bind(&address).await {
            Ok(listener) => {
                conditions.clear(ConditionName::MetricsListener, "");
                tracing::info!(%address, "serving metrics and health");
                let is_there = listener.presence();
                let serving = http::serve(listener, Arc::clone(&node), Arc::clone(&metrics), stopped());
                let gone = async {
                    while is_there() {
                        tokio::time::sleep(AGAIN).await;
                    }
                };
                tokio::select! {
                    () = serving => return,
                    () = gone => {
                        conditions.set(ConditionName::MetricsListener, "", format!("metrics.listen: {address} was deleted or replaced"));
                    }
                }
            }
            Err(error) => {
                conditions.set(
                    ConditionName::MetricsListener,
                    "",
                    format!("metrics.listen: {address}: {error}"),
                );
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}
