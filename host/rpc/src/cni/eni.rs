//! The Eni service: the same plugin as a main plugin, whose links the host makes.

use tonic::{Request, Response, Status};

use super::{CniService, Plugin, silent};
use crate::status::to_status;
use crate::v1::{self, Answer, Invocation};

#[tonic::async_trait]
impl v1::eni_server::Eni for CniService {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        let answer = self.add(&call, Plugin::Main).await;
        answer.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.check(call.get_ref(), Plugin::Main).await)
    }

    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.status(call.get_ref(), Plugin::Main).await)
    }
}
