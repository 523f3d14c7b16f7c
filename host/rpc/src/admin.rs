//! The Admin service for operators: only glue between messages and the engine.
//!
//! Each verb has a file of its own; this one dispatches the calls.

mod address;
mod allocations;
mod books;
mod check;
mod claims;
mod cloud;
mod components;
mod delegations;
mod difference;
mod exchange;
mod granted;
mod import;
mod networks;
mod node;
mod overlap;
mod plan;
mod policies;
mod quarantine;
mod release;
mod reload;
mod repair;
mod shown;
mod states;
mod status;
mod taken;

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_types::Result;
use tonic::{Request, Response, Status, Streaming};

pub use self::node::{AdminNode, Cloud, Reloaded};
use crate::status::to_status;
use crate::v1;

/// Implements the generated service over an engine.
pub struct AdminService {
    engine: Arc<Engine>,
    node: Arc<dyn AdminNode>,
}

impl AdminService {
    /// The service of one node.
    #[must_use]
    pub fn new(engine: Arc<Engine>, node: Arc<dyn AdminNode>) -> Self {
        Self { engine, node }
    }
}

/// An answer, or the status for its error.
fn told<T>(answer: Result<T>) -> Result<Response<T>, Status> {
    answer.map(Response::new).map_err(|error| to_status(&error))
}

#[tonic::async_trait]
impl v1::admin_server::Admin for AdminService {
    type ListAllocationsStream = allocations::AllocationStream;
    type ImportAllStream = import::OutcomeStream;

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        Ok(Response::new(status::status(&self.engine, self.node.as_ref()).await))
    }

    async fn list_networks(
        &self,
        _: Request<v1::ListNetworksRequest>,
    ) -> Result<Response<v1::ListNetworksResponse>, Status> {
        Ok(Response::new(networks::networks(&self.engine).await))
    }

    async fn list_allocations(
        &self,
        request: Request<v1::ListAllocationsRequest>,
    ) -> Result<Response<allocations::AllocationStream>, Status> {
        told(allocations::allocations(&self.engine, &request.get_ref().network).await)
    }

    async fn get_address(
        &self,
        request: Request<v1::GetAddressRequest>,
    ) -> Result<Response<v1::GetAddressResponse>, Status> {
        told(address::address(&self.engine, &request.get_ref().address).await)
    }

    async fn check(&self, _: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        told(check::check(&self.engine, &self.node).await)
    }

    async fn list_policies(
        &self,
        _: Request<v1::ListPoliciesRequest>,
    ) -> Result<Response<v1::ListPoliciesResponse>, Status> {
        Ok(Response::new(policies::list(&self.engine)))
    }

    async fn activate_policy(
        &self,
        request: Request<v1::ActivatePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        told(exchange::activate(&self.engine, request.into_inner()).await)
    }

    async fn inspect_policy(
        &self,
        request: Request<v1::InspectPolicyRequest>,
    ) -> Result<Response<v1::InspectPolicyResponse>, Status> {
        told(policies::inspect(&self.engine, &request.get_ref().policy))
    }

    async fn load_policy(
        &self,
        request: Request<Streaming<v1::LoadPolicyPart>>,
    ) -> Result<Response<v1::LoadPolicyResponse>, Status> {
        components::load(&self.engine, request.into_inner()).await.map(Response::new)
    }

    async fn unload_policy(
        &self,
        request: Request<v1::UnloadPolicyRequest>,
    ) -> Result<Response<v1::UnloadPolicyResponse>, Status> {
        told(components::unload(&self.engine, &request.get_ref().policy).await)
    }

    async fn shadow_policy(
        &self,
        request: Request<v1::ShadowPolicyRequest>,
    ) -> Result<Response<v1::ShadowPolicyResponse>, Status> {
        told(exchange::shadow(&self.engine, request.into_inner()).await)
    }

    async fn promote_policy(
        &self,
        request: Request<v1::PromotePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        told(exchange::promote(&self.engine, request.into_inner()).await)
    }

    async fn roll_back_policy(
        &self,
        request: Request<v1::RollBackPolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        told(exchange::roll_back(&self.engine, request.into_inner()).await)
    }

    async fn get_policy_history(
        &self,
        request: Request<v1::GetPolicyHistoryRequest>,
    ) -> Result<Response<v1::GetPolicyHistoryResponse>, Status> {
        told(exchange::history(&self.engine, &request.get_ref().network))
    }

    async fn get_policy_state(
        &self,
        request: Request<v1::GetPolicyStateRequest>,
    ) -> Result<Response<v1::GetPolicyStateResponse>, Status> {
        told(states::get(&self.engine, &request.get_ref().network).await)
    }

    async fn replace_policy_state(
        &self,
        request: Request<v1::ReplacePolicyStateRequest>,
    ) -> Result<Response<v1::ReplacePolicyStateResponse>, Status> {
        told(states::replace(&self.engine, request.into_inner()).await)
    }

    async fn define_network(
        &self,
        request: Request<v1::DefineNetworkRequest>,
    ) -> Result<Response<v1::DefineNetworkResponse>, Status> {
        told(networks::define(&self.engine, request.get_ref()).await)
    }

    async fn remove_network(
        &self,
        request: Request<v1::RemoveNetworkRequest>,
    ) -> Result<Response<v1::RemoveNetworkResponse>, Status> {
        told(networks::remove(&self.engine, request.get_ref()).await)
    }

    async fn adopt(&self, _: Request<v1::AdoptRequest>) -> Result<Response<v1::AdoptResponse>, Status> {
        told(self.node.adopt().await.map(|was_lost| v1::AdoptResponse { was_lost }))
    }

    async fn import(
        &self,
        request: Request<v1::ImportRequest>,
    ) -> Result<Response<v1::ImportResponse>, Status> {
        let by = import::caller(&request);
        told(import::import(&self.engine, by, request.into_inner()).await)
    }

    async fn import_all(
        &self,
        request: Request<Streaming<v1::ImportPart>>,
    ) -> Result<Response<import::OutcomeStream>, Status> {
        let by = import::caller(&request);
        import::import_all(&self.engine, by, request.into_inner()).await.map(Response::new)
    }

    async fn abandon_import(
        &self,
        request: Request<v1::AbandonImportRequest>,
    ) -> Result<Response<v1::AbandonImportResponse>, Status> {
        told(import::abandon(&self.engine, request.into_inner()).await)
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        told(release::release(&self.engine, self.node.as_ref(), request.get_ref()).await)
    }

    async fn repair(
        &self,
        request: Request<v1::RepairRequest>,
    ) -> Result<Response<v1::RepairResponse>, Status> {
        told(repair::repair(&self.engine, self.node.as_ref(), request.get_ref()).await)
    }

    async fn list_all_claims(
        &self,
        request: Request<v1::ListAllClaimsRequest>,
    ) -> Result<Response<v1::ListAllClaimsResponse>, Status> {
        told(claims::list(&self.engine, request.get_ref()))
    }

    async fn list_delegations(
        &self,
        _: Request<v1::ListDelegationsRequest>,
    ) -> Result<Response<v1::ListDelegationsResponse>, Status> {
        told(Ok(delegations::list(&self.engine)))
    }

    async fn release_claim_of(
        &self,
        request: Request<v1::ReleaseClaimOfRequest>,
    ) -> Result<Response<v1::ReleaseClaimOfResponse>, Status> {
        told(claims::release(&self.engine, request.get_ref()).await)
    }

    async fn get_cloud(
        &self,
        _: Request<v1::GetCloudRequest>,
    ) -> Result<Response<v1::GetCloudResponse>, Status> {
        told(cloud::status(self.node.cloud()).await)
    }

    async fn get_cluster(
        &self,
        _: Request<v1::GetClusterRequest>,
    ) -> Result<Response<v1::GetClusterResponse>, Status> {
        told(self.node.cluster().await)
    }

    async fn check_cluster_access(
        &self,
        _: Request<v1::CheckClusterAccessRequest>,
    ) -> Result<Response<v1::CheckClusterAccessResponse>, Status> {
        told(self.node.cluster_access().await)
    }

    async fn explain_plan(
        &self,
        request: Request<v1::ExplainPlanRequest>,
    ) -> Result<Response<v1::ExplainPlanResponse>, Status> {
        told(plan::explain(self.node.as_ref(), &request.get_ref().network).await)
    }

    async fn get_configuration(
        &self,
        _: Request<v1::GetConfigurationRequest>,
    ) -> Result<Response<v1::GetConfigurationResponse>, Status> {
        told(reload::configuration(self.node.as_ref()))
    }

    async fn list_quarantine(
        &self,
        request: Request<v1::ListQuarantineRequest>,
    ) -> Result<Response<v1::ListQuarantineResponse>, Status> {
        told(quarantine::list(&self.engine, request.get_ref()).await)
    }

    async fn quarantine_address(
        &self,
        request: Request<v1::QuarantineAddressRequest>,
    ) -> Result<Response<v1::QuarantineAddressResponse>, Status> {
        told(quarantine::add(&self.engine, request.get_ref()).await)
    }

    async fn lift_quarantine(
        &self,
        request: Request<v1::LiftQuarantineRequest>,
    ) -> Result<Response<v1::LiftQuarantineResponse>, Status> {
        told(quarantine::lift(&self.engine, request.get_ref()).await)
    }

    async fn reload(&self, _: Request<v1::ReloadRequest>) -> Result<Response<v1::ReloadResponse>, Status> {
        told(reload::reload(self.node.as_ref()).await)
    }
}
