//! Cloud interfaces.

use tenure_types::Result;

use super::node::Cloud;
use crate::v1;

/// The status of the cloud interfaces of a node, or why there are none.
pub(super) async fn status(cloud: Result<Box<dyn Cloud + '_>>) -> Result<v1::GetCloudResponse> {
    Ok(cloud?.status().await)
}

#[cfg(test)]
mod tests {
    use tenure_types::{Error, ErrorCode, NetworkName};

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
    }

    #[tokio::test]
    async fn a_node_without_interfaces_says_so() {
        let fake = Fake(NetworkName::new("pods").unwrap());
        assert_eq!(status(Ok(Box::new(fake))).await.unwrap().network, "pods");
        let none = Err(Error::new(ErrorCode::NoCloud, "none"));
        assert_eq!(status(none).await.unwrap_err().code, ErrorCode::NoCloud);
    }
}
