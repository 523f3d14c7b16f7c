//! Long work that lets others run.

/// Lets the runtime run other tasks, and look for what has arrived, before a long piece of work goes on.
///
/// A policy that is trusted answers at once, so that hundreds of its calls in a row end in no wait. Without this, the thread that makes
/// them does nothing else meanwhile; and if it is the one that had waited for the sockets, nobody reads a request until it is done,
/// although other threads are idle.
pub(crate) async fn give_way() {
    tokio::task::yield_now().await;
}
