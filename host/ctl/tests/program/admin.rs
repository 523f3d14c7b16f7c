//! An Admin server with a fixed answer to each request, and one state: it is ready from the third status request on.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use tenure_rpc::status::to_status;
use tenure_rpc::v1;
use tenure_rpc::v1::admin_server::Admin;
use tenure_types::{Error, ErrorCode};
use tonic::{Request, Response, Status, Streaming};

/// A daemon with one network, `pods`, that is ready from the third status request on.
#[derive(Default)]
pub(crate) struct FakeAdmin {
    asked: AtomicU32,
    /// The conditions of each status.
    conditions: Vec<v1::Condition>,
}

impl FakeAdmin {
    /// A daemon with a condition.
    pub(crate) fn with_condition(name: &str) -> Self {
        let condition = v1::Condition { name: name.to_owned(), ..v1::Condition::default() };
        Self { conditions: vec![condition], ..Self::default() }
    }
}

fn unknown(network: &str) -> Status {
    to_status(&Error::new(ErrorCode::UnknownNetwork, format!("no network {network} on this node")))
}

#[tonic::async_trait]
impl Admin for FakeAdmin {
    type ListAllocationsStream = Pin<Box<dyn Stream<Item = Result<v1::Allocation, Status>> + Send>>;
    type ImportAllStream = Pin<Box<dyn Stream<Item = Result<v1::ImportOutcomes, Status>> + Send>>;

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        let ready = self.asked.fetch_add(1, Ordering::Relaxed) >= 2;
        let (state, reasons) =
            if ready { ("ready", vec![]) } else { ("not-ready", vec!["starting".to_owned()]) };
        let (state, conditions) = (state.into(), self.conditions.clone());
        Ok(Response::new(v1::GetStatusResponse { state, reasons, conditions, ..Default::default() }))
    }

    async fn list_networks(
        &self,
        _: Request<v1::ListNetworksRequest>,
    ) -> Result<Response<v1::ListNetworksResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NotReady, "the checkpoint is being read")))
    }

    async fn list_allocations(
        &self,
        request: Request<v1::ListAllocationsRequest>,
    ) -> Result<Response<Self::ListAllocationsStream>, Status> {
        match request.into_inner().network.as_str() {
            "" | "pods" => {
                let held = |generation| v1::Allocation { generation, ..v1::Allocation::default() };
                Ok(Response::new(Box::pin(stream::iter([Ok(held(1)), Ok(held(2))]))))
            }
            other => Err(unknown(other)),
        }
    }

    async fn get_address(
        &self,
        _: Request<v1::GetAddressRequest>,
    ) -> Result<Response<v1::GetAddressResponse>, Status> {
        Ok(Response::new(v1::GetAddressResponse::default()))
    }

    async fn get_configuration(
        &self,
        _: Request<v1::GetConfigurationRequest>,
    ) -> Result<Response<v1::GetConfigurationResponse>, Status> {
        let file = "/etc/tenure/config/a/tenured.toml".to_owned();
        Ok(Response::new(v1::GetConfigurationResponse { file, ..v1::GetConfigurationResponse::default() }))
    }

    async fn check(&self, _: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        let findings = vec![v1::Finding { kind: "missing-from-memory".into(), ..v1::Finding::default() }];
        Ok(Response::new(v1::CheckResponse { compared: 1, findings, ..v1::CheckResponse::default() }))
    }

    async fn list_policies(
        &self,
        _: Request<v1::ListPoliciesRequest>,
    ) -> Result<Response<v1::ListPoliciesResponse>, Status> {
        Ok(Response::new(v1::ListPoliciesResponse::default()))
    }

    async fn activate_policy(
        &self,
        request: Request<v1::ActivatePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        let code = match request.into_inner().policy.as_str() {
            "broken" => ErrorCode::PolicyUnloadable,
            _ => ErrorCode::UnknownPolicy,
        };
        Err(to_status(&Error::new(code, "it is not")))
    }

    async fn inspect_policy(
        &self,
        _: Request<v1::InspectPolicyRequest>,
    ) -> Result<Response<v1::InspectPolicyResponse>, Status> {
        Ok(Response::new(v1::InspectPolicyResponse::default()))
    }

    async fn load_policy(
        &self,
        _: Request<Streaming<v1::LoadPolicyPart>>,
    ) -> Result<Response<v1::LoadPolicyResponse>, Status> {
        Ok(Response::new(v1::LoadPolicyResponse::default()))
    }

    async fn unload_policy(
        &self,
        _: Request<v1::UnloadPolicyRequest>,
    ) -> Result<Response<v1::UnloadPolicyResponse>, Status> {
        Ok(Response::new(v1::UnloadPolicyResponse::default()))
    }

    async fn shadow_policy(
        &self,
        _: Request<v1::ShadowPolicyRequest>,
    ) -> Result<Response<v1::ShadowPolicyResponse>, Status> {
        Ok(Response::new(v1::ShadowPolicyResponse::default()))
    }

    async fn promote_policy(
        &self,
        _: Request<v1::PromotePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::ShadowInconclusive, "too few")))
    }

    async fn roll_back_policy(
        &self,
        _: Request<v1::RollBackPolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NothingBefore, "none")))
    }

    async fn get_policy_history(
        &self,
        _: Request<v1::GetPolicyHistoryRequest>,
    ) -> Result<Response<v1::GetPolicyHistoryResponse>, Status> {
        Ok(Response::new(v1::GetPolicyHistoryResponse::default()))
    }

    async fn get_policy_state(
        &self,
        _: Request<v1::GetPolicyStateRequest>,
    ) -> Result<Response<v1::GetPolicyStateResponse>, Status> {
        Ok(Response::new(v1::GetPolicyStateResponse::default()))
    }

    async fn replace_policy_state(
        &self,
        _: Request<v1::ReplacePolicyStateRequest>,
    ) -> Result<Response<v1::ReplacePolicyStateResponse>, Status> {
        Ok(Response::new(v1::ReplacePolicyStateResponse::default()))
    }

    async fn define_network(
        &self,
        request: Request<v1::DefineNetworkRequest>,
    ) -> Result<Response<v1::DefineNetworkResponse>, Status> {
        let config: Value = serde_json::from_slice(&request.get_ref().config).unwrap();
        let network = config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Response::new(v1::DefineNetworkResponse { network, changed: true, ..Default::default() }))
    }

    async fn remove_network(
        &self,
        request: Request<v1::RemoveNetworkRequest>,
    ) -> Result<Response<v1::RemoveNetworkResponse>, Status> {
        match request.into_inner().network.as_str() {
            "full" => {
                Err(to_status(&Error::new(ErrorCode::NetworkInUse, "network full has 7 live allocations")))
            }
            network => Ok(Response::new(v1::RemoveNetworkResponse { existed: network == "pods" })),
        }
    }

    async fn adopt(&self, _: Request<v1::AdoptRequest>) -> Result<Response<v1::AdoptResponse>, Status> {
        Ok(Response::new(v1::AdoptResponse { was_lost: true }))
    }

    async fn import(&self, _: Request<v1::ImportRequest>) -> Result<Response<v1::ImportResponse>, Status> {
        Err(Status::unimplemented("for programs one version older"))
    }

    async fn abandon_import(
        &self,
        request: Request<v1::AbandonImportRequest>,
    ) -> Result<Response<v1::AbandonImportResponse>, Status> {
        Err(unknown(&request.into_inner().network))
    }

    async fn import_all(
        &self,
        request: Request<Streaming<v1::ImportPart>>,
    ) -> Result<Response<Self::ImportAllStream>, Status> {
        let mut parts = request.into_inner();
        let first = parts.message().await?.unwrap();
        let head = first.head.unwrap();
        let taken = v1::ImportOutcome { outcome: "taken".into(), reason: String::new() };
        match head.network.as_str() {
            "pods" => {}
            "full" => return Err(to_status(&Error::new(ErrorCode::CheckpointFailed, "no space left"))),
            "half" => {
                let failed = to_status(&Error::new(ErrorCode::CheckpointFailed, "no space left"));
                let answers = [Ok(v1::ImportOutcomes { outcomes: vec![taken] }), Err(failed)];
                return Ok(Response::new(Box::pin(stream::iter(answers))));
            }
            other => return Err(unknown(other)),
        }
        let answer = move |entries: &[v1::ImportEntry]| {
            Ok(v1::ImportOutcomes { outcomes: vec![taken.clone(); entries.len()] })
        };
        let answers = stream::once(std::future::ready(answer(&first.entries)))
            .chain(parts.map(move |part| answer(&part?.entries)));
        Ok(Response::new(Box::pin(answers)))
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        let outcome = if request.get_ref().address == "10.1.0.7" { "released" } else { "kept" };
        Ok(Response::new(v1::ReleaseResponse { outcome: outcome.into(), ..Default::default() }))
    }

    async fn repair(
        &self,
        request: Request<v1::RepairRequest>,
    ) -> Result<Response<v1::RepairResponse>, Status> {
        let released = v1::RepairOutcome { outcome: "released".into(), reason: String::new() };
        Ok(Response::new(v1::RepairResponse {
            outcomes: vec![released; request.get_ref().allocations.len()],
        }))
    }

    async fn list_all_claims(
        &self,
        _: Request<v1::ListAllClaimsRequest>,
    ) -> Result<Response<v1::ListAllClaimsResponse>, Status> {
        Ok(Response::new(v1::ListAllClaimsResponse::default()))
    }

    async fn list_delegations(
        &self,
        _: Request<v1::ListDelegationsRequest>,
    ) -> Result<Response<v1::ListDelegationsResponse>, Status> {
        Ok(Response::new(v1::ListDelegationsResponse::default()))
    }

    async fn list_quarantine(
        &self,
        _: Request<v1::ListQuarantineRequest>,
    ) -> Result<Response<v1::ListQuarantineResponse>, Status> {
        Ok(Response::new(v1::ListQuarantineResponse::default()))
    }

    async fn quarantine_address(
        &self,
        _: Request<v1::QuarantineAddressRequest>,
    ) -> Result<Response<v1::QuarantineAddressResponse>, Status> {
        Ok(Response::new(v1::QuarantineAddressResponse { changed: true }))
    }

    async fn lift_quarantine(
        &self,
        _: Request<v1::LiftQuarantineRequest>,
    ) -> Result<Response<v1::LiftQuarantineResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::UnknownAddress, "10.1.0.7 is not in quarantine")))
    }

    async fn get_cluster(
        &self,
        _: Request<v1::GetClusterRequest>,
    ) -> Result<Response<v1::GetClusterResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NoCluster, "this node leases no blocks of a cluster")))
    }

    async fn check_cluster_access(
        &self,
        _: Request<v1::CheckClusterAccessRequest>,
    ) -> Result<Response<v1::CheckClusterAccessResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NoCluster, "this node asks no API server")))
    }

    async fn get_cloud(
        &self,
        _: Request<v1::GetCloudRequest>,
    ) -> Result<Response<v1::GetCloudResponse>, Status> {
        Err(to_status(&Error::new(ErrorCode::NoCloud, "this node uses no cloud interfaces")))
    }

    async fn explain_plan(
        &self,
        request: Request<v1::ExplainPlanRequest>,
    ) -> Result<Response<v1::ExplainPlanResponse>, Status> {
        let network = request.into_inner().network;
        Ok(Response::new(v1::ExplainPlanResponse { network, ..Default::default() }))
    }

    async fn release_claim_of(
        &self,
        _: Request<v1::ReleaseClaimOfRequest>,
    ) -> Result<Response<v1::ReleaseClaimOfResponse>, Status> {
        Ok(Response::new(v1::ReleaseClaimOfResponse::default()))
    }

    async fn reload(&self, _: Request<v1::ReloadRequest>) -> Result<Response<v1::ReloadResponse>, Status> {
        let problem = v1::ReloadProblem { key: "networks.pods".into(), message: "no policy mine".into() };
        Ok(Response::new(v1::ReloadResponse { problems: vec![problem], ..Default::default() }))
    }
}
