//! Watches whose reader takes nothing of what it is told.

use std::sync::mpsc;

use anyhow::{Context as _, ensure};
use tenure_e2e::wait;
use tenure_rpc::v1::claims_client::ClaimsClient;
use tokio::sync::oneshot;
use tonic::transport::Endpoint;

use crate::agent::{Connected, claim};
use crate::{LIMIT, MOST_WATCHES, NETWORK, PARTS, another_watch, is_overloaded, own, start};

/// As many claims as make the first response of a watch longer than what the reader takes unread.
const MANY: usize = 64;
const WINDOW: u32 = 1024;

pub(crate) fn buffered() -> anyhow::Result<()> {
    let (daemon, agent) = start(&own("pods"))?;
    let all = (0..MANY).map(|number| claim(&format!("claim-{number}"))).collect();
    agent.declares(all, false)??;
    let (end, ended) = oneshot::channel::<()>();
    let (opened, told) = mpsc::channel();
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let reader = std::thread::spawn(move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut watches = Vec::new();
            for _ in 0..PARTS {
                let endpoint = Endpoint::from_shared(format!("unix:{}", socket.display()))?;
                let channel = endpoint.initial_stream_window_size(Some(WINDOW)).connect().await?;
                let mut connected = Connected(ClaimsClient::new(channel));
                for _ in 0..MOST_WATCHES / PARTS {
                    watches.push(connected.watch("").await?);
                }
            }
            let _ = opened.send(());
            let _ = ended.await;
            Ok(())
        })
    });
    told.recv_timeout(LIMIT).context("not all could be opened")?;
    ensure!(is_overloaded(&another_watch(&agent)?), "they are not open");
    let change = || -> anyhow::Result<()> {
        agent.ensures(claim("another"))??;
        agent.releases("pods", "another")??;
        Ok(())
    };
    // These fill what the daemon keeps for each of them.
    (0..4).try_for_each(|_| change())?;
    let before = daemon.rss()?;
    (0..100).try_for_each(|_| change())?;
    let grown = daemon.rss()?.saturating_sub(before);
    println!("{grown} KiB more after 200 changes that {MOST_WATCHES} watches did not read");
    ensure!(grown < 32 << 10, "{grown} KiB are buffered");
    wait::holds("the watches to be cut off", LIMIT, || Ok(another_watch(&agent)?.is_ok()))?;
    drop(end);
    reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?
}

/// Watches whose first response is many pieces, of which the reader takes none.
pub(crate) fn at_the_end() -> anyhow::Result<()> {
    let own = own("pods").replace("claims = 256", "claims = 1000");
    let (mut daemon, agent) = start(&own)?;
    let all = (0..900).map(|number| claim(&format!("claim-{number}"))).collect();
    agent.declares(all, false)??;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let open = || {
        runtime.block_on(async {
            let endpoint = Endpoint::from_shared(format!("unix:{}", socket.display()))?;
            let channel = endpoint.initial_stream_window_size(Some(WINDOW)).connect().await?;
            anyhow::Ok(Connected(ClaimsClient::new(channel)).watch("").await?)
        })
    };
    let _unread = open()?;
    daemon.configure(NETWORK)?;
    daemon.ctl(&["reload"])?;
    wait::holds("the socket to go", LIMIT, || Ok(!socket.exists()))?;
    daemon.configure(&own)?;
    daemon.ctl(&["reload"])?;
    wait::holds("the socket to serve again", LIMIT, || Ok(agent.lists()?.is_ok()))?;
    let _unread = open()?;
    daemon.stop()?;
    let cut = daemon.log("cutting off requests");
    ensure!(cut.is_empty(), "{cut}");
    Ok(())
}
