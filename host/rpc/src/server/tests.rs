use std::sync::Arc;

use tokio::sync::{Notify, oneshot};
use tonic::{Request, Response, Status};

use super::*;
use crate::client;
use crate::door::Door;
use crate::v1::cni_client::CniClient;
use crate::v1::{Answer, Invocation};

/// Says when an ADD has come in, and answers it when told.
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

#[tokio::test]
async fn a_stopping_server_answers_what_is_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cni.sock");
    let service = Slow::default();
    let (stop, stopped) = oneshot::channel::<()>();
    let calls = Door::open(path.clone()).unwrap().connections(|_| {});
    let serving = serve_cni(calls, service.clone(), async {
        stopped.await.unwrap();
    });
    let serving = tokio::spawn(serving);

    let channel = client::connect(&path).await.unwrap();
    let call = tokio::spawn(async { CniClient::new(channel).add(Invocation::default()).await });
    service.entered.notified().await;
    stop.send(()).unwrap();
    service.answer.notify_one();
    assert_eq!(call.await.unwrap().unwrap().into_inner(), Answer::default());
    serving.await.unwrap().unwrap();

    let gone = client::connect(&path).await.unwrap_err();
    assert_eq!(gone.code, tenure_types::ErrorCode::Unreachable);
    assert!(gone.cause.contains("Connection refused"), "{gone}");
}
