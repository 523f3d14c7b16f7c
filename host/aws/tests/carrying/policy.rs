//! The policy `aws-eni`, called natively, as the engine calls a policy.

use std::sync::Arc;

use tenure_aws_eni::AwsEni;
use tenure_engine::ports::{Answer, Catalogue, Policy};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_ledger::Book;
use tenure_testkit::{Native, Subject};
use tenure_types::{
    Definition, Effect, Error, NetworkConfig, NetworkName, Outcome, PlanState, PolicyName, PolicyStamp,
    Request,
};

struct Aws(Arc<PolicyStamp>);

/// A catalogue with this policy.
pub(crate) fn catalogue() -> Arc<dyn Catalogue> {
    Arc::new(LookUp(|name: &PolicyName| {
        let stamp = PolicyStamp { name: name.clone(), digest: "d".into() };
        Ok::<Arc<dyn Policy>, Error>(Arc::new(Aws(Arc::new(stamp))))
    }))
}

impl Policy for Aws {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.0
    }

    fn define<'a>(&'a self, network: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(async move { Native::<AwsEni>::new().define(network, config) })
    }

    fn propose<'a>(&'a self, request: &'a Request, book: Arc<Book>, state: Arc<[u8]>) -> Answer<'a, Outcome> {
        Box::pin(async move { Native::<AwsEni>::new().propose(request, &state, &book) })
    }

    fn plans(&self) -> bool {
        true
    }

    fn plan<'a>(&'a self, state: Arc<PlanState>, book: Arc<Book>) -> Answer<'a, Vec<Effect>> {
        Box::pin(async move { Native::<AwsEni>::new().planning().plan(&state, &book) })
    }
}
