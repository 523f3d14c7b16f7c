//! The policy `aws-eni`, called natively, as the engine calls a policy.

use std::sync::Arc;

use tenure_aws_eni::AwsEni;
use tenure_engine::ports::{Answer, Catalogue, Policy};
use tenure_fixtures::ports::catalogue::LookUp;
use tenure_ledger::Book;
use tenure_testkit::{Native, Subject};
use tenure_types::{
    Attributes, Definition, Effect, EffectKind, Error, NetworkConfig, NetworkName, Outcome, PlanState,
    PolicyName, PolicyStamp, Request,
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
        Box::pin(async move {
            let planned = Native::<AwsEni>::new().plan(&read(&state), &book)?;
            Ok(planned.iter().map(effect).collect())
        })
    }
}

fn read(state: &PlanState) -> tenure_sdk::SupplySituation {
    let attributes = |attributes: &Attributes| -> tenure_sdk::Attributes {
        attributes.iter().map(|(name, value)| (name, value.to_owned())).collect()
    };
    let number = |number: usize| u32::try_from(number).unwrap();
    tenure_sdk::SupplySituation {
        waiting: state.demands.iter().map(|demand| (number(demand.pool), demand.waiting)).collect(),
        objects: state
            .objects
            .iter()
            .map(|object| tenure_sdk::Object {
                kind: object.kind.clone(),
                name: object.name.clone(),
                attributes: attributes(&object.attributes),
            })
            .collect(),
        pending: state
            .pending
            .iter()
            .map(|effect| tenure_sdk::Effect {
                kind: kind_of(effect.kind),
                pool: number(effect.pool),
                attributes: attributes(&effect.attributes),
            })
            .collect(),
        attributes: attributes(&state.attributes),
    }
}

fn kind_of(kind: EffectKind) -> tenure_sdk::EffectKind {
    match kind {
        EffectKind::AttachInterface => tenure_sdk::EffectKind::AttachInterface,
        EffectKind::DetachInterface => tenure_sdk::EffectKind::DetachInterface,
        EffectKind::AssignAddress => tenure_sdk::EffectKind::AssignAddress,
        EffectKind::ReleaseAddress => tenure_sdk::EffectKind::ReleaseAddress,
        EffectKind::AssignPrefix => tenure_sdk::EffectKind::AssignPrefix,
        EffectKind::ReleasePrefix => tenure_sdk::EffectKind::ReleasePrefix,
        EffectKind::RequestBlock => tenure_sdk::EffectKind::RequestBlock,
        EffectKind::GiveBackBlock => tenure_sdk::EffectKind::GiveBackBlock,
    }
}

fn effect(planned: &tenure_sdk::Effect) -> Effect {
    let kind = EffectKind::ALL.into_iter().find(|kind| kind_of(*kind) == planned.kind).unwrap();
    let attributes = Attributes::new(planned.attributes.iter()).unwrap();
    Effect { kind, pool: usize::try_from(planned.pool).unwrap(), attributes }
}
