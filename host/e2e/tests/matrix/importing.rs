//! Another program that imports into the network, and does not end.

use std::thread;

use anyhow::{Context, ensure};
use futures_util::stream::{self, StreamExt as _};
use tenure_rpc::client;
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::v1::{ImportEntry, ImportHead, ImportPart};
use tokio::sync::oneshot;

use crate::enter::populated;
use crate::node::{LIMIT, Node};

/// Ends when dropped: another program that imports into the network.
struct Importer {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<anyhow::Result<()>>>,
}

impl Drop for Importer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Begins the import.
pub(crate) fn importing(node: &mut Node) -> anyhow::Result<()> {
    populated(node, "")?;
    let socket = node.daemon.run_directory().join("admin.sock");
    let config = node.config.to_string().into_bytes();
    let (end, ended) = oneshot::channel::<()>();
    let (began, begins) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let head =
                ImportHead { network: "pods".to_owned(), config, apply: true, ..ImportHead::default() };
            let entry = ImportEntry {
                container_id: "half".to_owned(),
                interface: "eth0".to_owned(),
                addresses: vec!["10.93.0.201".to_owned()],
                ..ImportEntry::default()
            };
            let first = ImportPart { head: Some(head), entries: vec![entry] };
            let parts = stream::iter([first]).chain(stream::pending());
            let channel = client::connect(&socket).await?;
            let mut answer = AdminClient::new(channel).import_all(parts).await?.into_inner();
            ensure!(answer.message().await?.is_some(), "no answer to the first part");
            began.send(())?;
            let _ = ended.await;
            Ok(())
        })
    });
    node.causes.push(Box::new(Importer { end: Some(end), thread: Some(thread) }));
    begins.recv_timeout(LIMIT).context("the import did not begin")
}

/// Kills the daemon, and with it the import.
pub(crate) fn cut_off(node: &mut Node) -> anyhow::Result<()> {
    node.daemon.kill()?;
    node.causes.clear();
    Ok(())
}
