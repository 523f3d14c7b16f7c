#![expect(clippy::unwrap_used, reason = "clippy does not recognise helpers as test code")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

use super::*;
use crate::client;
use crate::door::Door;
use crate::v1::cni_client::CniClient;
use crate::v1::{Answer, Invocation};

/// Signals when an ADD has arrived, and answers it on demand.
#[derive(Clone, Default)]
struct Slow {
    entered: Arc<Notify>,
    answer: Arc<Notify>,
}

#[tonic::async_trait]
impl Cni for Slow {
    async fn add(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.entered.notify_one();
        self.answer.notified().await;
        Ok(Response::new(Answer::default()))
    }
    async fn del(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn check(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn gc(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn status(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tonic::async_trait]
impl Eni for Slow {
    async fn add(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn check(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn status(&self, _: Request<Invocation>) -> Result<Response<Answer>, Status> {
        Err(Status::unimplemented(""))
    }
}

/// The time limit for a stop that nothing holds up, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// A server in a task of its own.
struct Serving {
    service: Slow,
    under_way: UnderWay,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), Error>>,
}

impl Serving {
    fn at(path: &Path) -> Self {
        let (service, under_way) = (Slow::default(), UnderWay::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let calls = Door::open(path.to_owned()).unwrap().connections(std::future::pending, |_| {});
        let serving = serve_cni(calls, service.clone(), under_way.clone(), async {
            stopped.await.unwrap();
        });
        Self { service, under_way, stop, serving: tokio::spawn(serving) }
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap()
}

#[tokio::test]
async fn a_stopping_server_answers_what_is_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cni.sock");
    let Serving { service, under_way, stop, mut serving } = Serving::at(&path);

    let channel = client::connect(&path).await.unwrap();
    let call = tokio::spawn(async { CniClient::new(channel).add(Invocation::default()).await });
    soon(service.entered.notified()).await;
    assert_eq!(under_way.count(), 1);
    stop.send(()).unwrap();
    // Longer than it takes to write an answer.
    tokio::time::timeout(Duration::from_millis(500), &mut serving).await.unwrap_err();
    service.answer.notify_one();
    assert_eq!(soon(call).await.unwrap().unwrap().into_inner(), Answer::default());
    soon(serving).await.unwrap().unwrap();
    assert_eq!(under_way.count(), 0);

    let gone = client::connect(&path).await.unwrap_err();
    assert_eq!(gone.code, tenure_types::ErrorCode::Unreachable);
    assert!(gone.cause.contains("Connection refused"), "{gone}");
}

#[tokio::test]
async fn a_connection_whose_client_says_nothing_holds_no_stop() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cni.sock");
    let Serving { under_way, stop, serving, .. } = Serving::at(&path);
    // Send HTTP/2's preface and empty settings, and then nothing, not even an answer to a ping.
    let mut silent = tokio::net::UnixStream::connect(&path).await.unwrap();
    silent.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut settings = [0];
    soon(silent.read_exact(&mut settings)).await.unwrap();
    stop.send(()).unwrap();
    soon(serving).await.unwrap().unwrap();
    assert_eq!(under_way.count(), 0);
}

#[tokio::test]
async fn a_caller_that_went_away_is_waited_for_no_longer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cni.sock");
    let Serving { service, stop, serving, .. } = Serving::at(&path);
    let channel = client::connect(&path).await.unwrap();
    let call = tokio::spawn(async { CniClient::new(channel).add(Invocation::default()).await });
    soon(service.entered.notified()).await;
    stop.send(()).unwrap();
    call.abort();
    soon(serving).await.unwrap().unwrap();
}
