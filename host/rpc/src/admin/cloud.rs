//! Cloud interfaces, and what a plan would do to them.

use tenure_types::{Error, ErrorCode, Result};

use super::node::Cloud;
use crate::v1;

/// The cloud interfaces of a node, or why there are none.
type Interfaces<'a> = Result<Box<dyn Cloud + 'a>>;

pub(super) async fn status(cloud: Interfaces<'_>) -> Result<v1::GetCloudResponse> {
    Ok(cloud?.status().await)
}

/// Explains the plan of a network; if its name is empty, of the one that has cloud interfaces.
pub(super) async fn explain(cloud: Interfaces<'_>, network: &str) -> Result<v1::ExplainPlanResponse> {
    let cloud = cloud?;
    let planned = cloud.network().as_str();
    if !network.is_empty() && network != planned {
        let words =
            format!("network {network:?} has no cloud interfaces on this node; network {planned} has");
        return Err(Error::new(ErrorCode::NoCloud, words));
    }
    cloud.explain().await
}

#[cfg(test)]
mod tests {
    use tenure_types::NetworkName;

    use super::*;

    struct Fake(NetworkName);

    #[tonic::async_trait]
    impl Cloud for Fake {
        fn network(&self) -> &NetworkName {
            &self.0
        }

        async fn status(&self) -> v1::GetCloudResponse {
            v1::GetCloudResponse { network: self.0.to_string(), ..v1::GetCloudResponse::default() }
        }

        async fn explain(&self) -> Result<v1::ExplainPlanResponse> {
            Ok(v1::ExplainPlanResponse { network: self.0.to_string(), ..v1::ExplainPlanResponse::default() })
        }
    }

    fn fake() -> Interfaces<'static> {
        Ok(Box::new(Fake(NetworkName::new("pods").unwrap())))
    }

    #[tokio::test]
    async fn the_plan_of_the_network_with_interfaces_is_explained_and_of_no_other() {
        for network in ["", "pods"] {
            assert_eq!(explain(fake(), network).await.unwrap().network, "pods");
        }
        let other = explain(fake(), "blue").await.unwrap_err();
        assert_eq!(other.code, ErrorCode::NoCloud);
        assert_eq!(other.cause, "network \"blue\" has no cloud interfaces on this node; network pods has");
    }

    #[tokio::test]
    async fn a_node_without_interfaces_says_so() {
        let none = || Err(Error::new(ErrorCode::NoCloud, "none"));
        assert_eq!(status(fake()).await.unwrap().network, "pods");
        assert_eq!(status(none()).await.unwrap_err().code, ErrorCode::NoCloud);
        assert_eq!(explain(none(), "pods").await.unwrap_err().cause, "none");
    }
}
