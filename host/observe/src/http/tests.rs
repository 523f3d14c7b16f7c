use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;

struct Fake(Readiness);

impl NodeHealth for Fake {
    async fn readiness(&self) -> Readiness {
        self.0.clone()
    }

    async fn refresh(&self, metrics: &Metrics) {
        metrics.load(3, 4);
    }
}

/// The response of a node to one request, head and body.
async fn exchange(ready: bool, reasons: &[&str], request: &str) -> String {
    let address = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(&address).await.unwrap();
    let port = listener.port().unwrap();
    let reasons = reasons.iter().map(ToString::to_string).collect();
    let node = Arc::new(Fake(Readiness { ready, reasons }));
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, node, Arc::new(Metrics::new("0.1.0")), async {
        let _ = stopped.await;
    }));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(format!("{request} HTTP/1.1\r\nhost: node\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    stop.send(()).unwrap();
    server.await.unwrap();
    answer.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn metrics_are_refreshed_and_typed() {
    let answer = exchange(true, &[], "GET /metrics").await;
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"), "{answer}");
    assert!(answer.contains("\ntenure_requests_in_flight 3\n"), "{answer}");
    assert!(answer.contains("\ntenure_requests_queued 4\n"), "{answer}");
}

/// A node whose figures are away for some time of its second scrape, while the first goes on.
#[derive(Default)]
struct Clearing(AtomicBool);

impl NodeHealth for Clearing {
    async fn readiness(&self) -> Readiness {
        Readiness { ready: true, reasons: Vec::new() }
    }

    async fn refresh(&self, metrics: &Metrics) {
        let is_first = !self.0.swap(true, Ordering::Relaxed);
        metrics.load(if is_first { 3 } else { 0 }, 4);
        for _ in 0..if is_first { 4 } else { 8 } {
            tokio::task::yield_now().await;
        }
        if !is_first {
            metrics.load(3, 4);
        }
    }
}

#[tokio::test]
async fn scrapes_at_once_do_not_take_series_away_from_each_other() {
    let (node, metrics) = (Arc::new(Clearing::default()), Arc::new(Metrics::new("0.1.0")));
    let node = ObservedNode { node, metrics, scraping: tokio::sync::Mutex::default() };
    let (one, other) = tokio::join!(node.exposition(), node.exposition());
    assert!([one, other].iter().all(|text| text.contains("\ntenure_requests_in_flight 3\n")));
}

#[tokio::test]
async fn a_node_that_is_not_ready_is_alive_and_says_what_it_waits_for() {
    insta::assert_snapshot!(exchange(false, &["the checkpoint is being read"], "GET /readyz").await, @"
    HTTP/1.1 503 Service Unavailable
    content-type: text/plain; charset=utf-8
    connection: close
    content-length: 41

    not ready
    - the checkpoint is being read
    ");
    insta::assert_snapshot!(exchange(false, &["the checkpoint is being read"], "GET /healthz").await, @"
    HTTP/1.1 200 OK
    content-type: text/plain; charset=utf-8
    connection: close
    content-length: 6

    alive
    ");
}

#[tokio::test]
async fn a_degraded_node_is_ready_and_says_what_is_wrong() {
    insta::assert_snapshot!(exchange(true, &["the disk is nearly full"], "GET /readyz").await, @"
    HTTP/1.1 200 OK
    content-type: text/plain; charset=utf-8
    connection: close
    content-length: 32

    ready
    - the disk is nearly full
    ");
}

#[tokio::test]
async fn nothing_else_is_served() {
    insta::assert_snapshot!(exchange(true, &[], "GET /debug").await, @"
    HTTP/1.1 404 Not Found
    content-type: text/plain; charset=utf-8
    connection: close
    content-length: 28

    /metrics, /healthz, /readyz
    ");
    insta::assert_snapshot!(exchange(true, &[], "POST /metrics").await, @"
    HTTP/1.1 405 Method Not Allowed
    content-type: text/plain; charset=utf-8
    allow: GET, HEAD
    connection: close
    content-length: 9

    only GET
    ");
}

#[tokio::test]
async fn a_unix_socket_serves_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("metrics.sock");
    let listener = Listener::bind(&ListenAddress::Unix(path.clone())).await.unwrap();
    let node = Arc::new(Fake(Readiness { ready: true, reasons: Vec::new() }));
    let server = tokio::spawn(serve(listener, node, Arc::new(Metrics::new("0.1.0")), std::future::pending()));
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nalive\n"), "{answer}");
    server.abort();
}

#[tokio::test]
async fn callers_that_never_finish_their_request_keep_no_scraper_waiting() {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    let port = listener.port().unwrap();
    let node = Arc::new(Fake(Readiness { ready: true, reasons: Vec::new() }));
    let server = tokio::spawn(serve(listener, node, Arc::new(Metrics::new("0.1.0")), std::future::pending()));
    let request = b"GET /readyz HTTP/1.1\r\nhost: node\r\n\r\n";
    let mut idle = Vec::new();
    for _ in 0..64 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(&request[..request.len() - 1]).await.unwrap();
        idle.push(stream);
    }
    let mut scraper = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    scraper.write_all(request).await.unwrap();
    let mut answer = String::new();
    scraper.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nready\n"), "{answer}");
    // Only the oldest has made way; it was not the deadline that ended the others.
    assert_eq!(idle[0].read(&mut [0]).await.unwrap_or_default(), 0);
    let second = idle[1].try_read(&mut [0]);
    assert_eq!(second.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    server.abort();
}
