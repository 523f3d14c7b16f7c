//! A connection that speaks HTTP/2 without a gRPC library, and so does what no library does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use base64::Engine as _;
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{HeaderMap, Method, Request};
use rustix::process::Gid;
use tenure_rpc::status::report;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// The bytes of each answer that the server may send ahead of what is read.
const WINDOW: u32 = 1 << 10;

/// How often in a row a flood must be found without progress to count as settled, how often to look, and how long an answer may take.
const SETTLED: usize = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const LIMIT: Duration = Duration::from_secs(60);

/// The content of an answer: the reason of its error, or `watching` for one that goes on.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// A connection, which is closed when this is dropped.
pub(crate) struct Raw {
    requests: SendRequest<Bytes>,
    /// Counts what has been sent or read.
    progress: Arc<AtomicUsize>,
    runtime: Runtime,
}

impl Raw {
    /// Connects as a member of a group; `None` if the daemon closes the connection at once.
    pub(crate) fn connect(socket: &Path, group: u32) -> anyhow::Result<Option<Self>> {
        let socket = socket.to_owned();
        // The kernel remembers the group of the thread that connects.
        let connected = std::thread::spawn(move || -> anyhow::Result<_> {
            rustix::thread::set_thread_gid(Gid::from_raw(group)).context("cannot change the group")?;
            Ok(std::os::unix::net::UnixStream::connect(socket)?)
        });
        let stream = connected.join().map_err(|_| anyhow!("the thread panicked"))??;
        stream.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let progress = Arc::<AtomicUsize>::default();
        let requests = runtime.block_on(async {
            let handshake = h2::client::Builder::new()
                .initial_window_size(WINDOW)
                .initial_connection_window_size(1 << 30)
                .handshake::<_, Bytes>(UnixStream::from_std(stream)?);
            let Ok((requests, connection)) = handshake.await else { return anyhow::Ok(None) };
            tokio::spawn(connection);
            // Ready once the server has sent its settings.
            let ready = tokio::time::timeout(LIMIT, requests.ready()).await?;
            Ok(ready.ok())
        })?;
        Ok(requests.map(|requests| Self { requests, progress, runtime }))
    }

    /// Begins a request with the head of a message and some of it, and never ends it.
    pub(crate) fn half(&self, path: &'static str, bytes: usize) {
        let (requests, progress) = (self.requests.clone(), Arc::clone(&self.progress));
        self.runtime.spawn(async move {
            let mut requests = requests.ready().await?;
            let (answer, mut body) = requests.send_request(request(path, None), false)?;
            let mut rest = Bytes::from([&message(bytes + 1)[..], &vec![0; bytes]].concat());
            while !rest.is_empty() {
                body.reserve_capacity(rest.len());
                let Some(room) = std::future::poll_fn(|context| body.poll_capacity(context)).await else {
                    break;
                };
                let room = room?.min(rest.len());
                body.send_data(rest.split_to(room), false)?;
                progress.fetch_add(room, Ordering::Relaxed);
            }
            let _ = answer.await?;
            std::future::pending::<()>().await;
            anyhow::Ok(())
        });
    }

    /// Asks with an empty message, and reads nothing of the answer.
    pub(crate) fn unread(&self, path: &'static str) {
        let (requests, progress) = (self.requests.clone(), Arc::clone(&self.progress));
        self.runtime.spawn(async move {
            let (answer, _) = ask(requests, request(path, None), message(0).to_vec(), true).await?;
            let answer = answer.await?;
            progress.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
            drop(answer);
            anyhow::Ok(())
        });
    }

    /// Begins a message of this length, sends so many bytes of it with its head, and returns what is answered.
    pub(crate) fn begin(&self, path: &'static str, length: usize, send: usize) -> anyhow::Result<Told> {
        let sent = message(length).get(..send).unwrap_or_default().to_vec();
        self.asks(request(path, None), sent, length == 0)
    }

    /// Sends a whole message, with a deadline if there is one, and returns what is answered.
    pub(crate) fn says(&self, path: &str, bytes: &[u8], deadline: Option<&str>) -> anyhow::Result<Told> {
        self.asks(request(path, deadline), [&message(bytes.len()), bytes].concat(), true)
    }

    fn asks(&self, request: Request<()>, sent: Vec<u8>, is_whole: bool) -> anyhow::Result<Told> {
        let requests = self.requests.clone();
        let (sender, told) = std::sync::mpsc::channel();
        self.runtime.spawn(async move {
            let answered = async {
                let (answer, body) = ask(requests, request, sent, is_whole).await?;
                anyhow::Ok((answer.await?, body))
            };
            match answered.await {
                Ok((answer, body)) => {
                    let _ = sender.send(Ok(answer.headers().clone()));
                    // What goes on stays open.
                    std::future::pending::<()>().await;
                    drop((answer, body));
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        told_by(&told.recv_timeout(LIMIT)??)
    }
}

/// Waits until nothing goes on any more on these connections.
pub(crate) fn settle(connections: &[Raw]) {
    let (mut before, mut same) = (usize::MAX, 0);
    for _ in 0..200 {
        let now = connections.iter().map(|raw| raw.progress.load(Ordering::Relaxed)).sum();
        same = if now == before { same + 1 } else { 0 };
        if same == SETTLED {
            return;
        }
        before = now;
        std::thread::sleep(LOOK_AGAIN);
    }
}

async fn ask(
    requests: SendRequest<Bytes>,
    request: Request<()>,
    sent: Vec<u8>,
    is_whole: bool,
) -> anyhow::Result<(ResponseFuture, h2::SendStream<Bytes>)> {
    let mut requests = requests.ready().await?;
    let (answer, mut body) = requests.send_request(request, false)?;
    body.send_data(sent.into(), is_whole)?;
    Ok((answer, body))
}

fn request(path: &str, deadline: Option<&str>) -> Request<()> {
    let request = Request::builder().method(Method::POST).uri(format!("http://localhost{path}"));
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    let request = match deadline {
        Some(deadline) => request.header("grpc-timeout", deadline),
        None => request,
    };
    request.body(()).unwrap_or_default()
}

/// The head of a gRPC message of this length.
fn message(length: usize) -> [u8; 5] {
    let [.., one, two, three, four] = length.to_be_bytes();
    [0, one, two, three, four]
}

fn told_by(headers: &HeaderMap) -> anyhow::Result<Told> {
    if !headers.contains_key("grpc-status") {
        return Ok(Told { reason: "watching".to_owned(), message: String::new() });
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let details = base64::engine::general_purpose::STANDARD_NO_PAD
        .decode(text("grpc-status-details-bin").trim_end_matches('='))?;
    let report = report(&details).with_context(|| format!("no details in {headers:?}"))?;
    Ok(Told { reason: report.reason, message: report.cause })
}
