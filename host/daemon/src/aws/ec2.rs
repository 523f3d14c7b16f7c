//! EC2 over the AWS SDK, which only a daemon with the feature `aws` has.

use std::sync::Arc;

use tenure_aws::Ec2;
use tenure_types::Attributes;

use crate::config::AwsTable;

/// The setting of the network that names EC2's address.
#[cfg(feature = "aws")]
const ENDPOINT: &str = "ec2.endpoint";
/// The setting of the network that says how long a call may take, in seconds.
#[cfg(feature = "aws")]
const SECONDS: &str = "ec2.timeoutSeconds";
/// The names in the environment of EC2's address, as the AWS SDKs have them; the first counts.
#[cfg(feature = "aws")]
const ENVIRONMENT: [&str; 2] = ["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"];

/// EC2 of a region, at the address that the configuration, the network's definition or the environment names.
///
/// # Errors
/// If an address is not a URL.
#[cfg(feature = "aws")]
pub(crate) fn ec2(config: &AwsTable, definition: &Attributes, region: &str) -> anyhow::Result<Arc<dyn Ec2>> {
    use std::time::Duration;

    use tenure_aws::sdk::{Ec2Connection, SdkEc2};

    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let from_environment = || ENVIRONMENT.iter().find_map(|name| named(&std::env::var(name).ok()?));
    let mut connection = Ec2Connection::new(region);
    connection.endpoint = config
        .ec2_endpoint
        .clone()
        .or_else(|| definition.get(ENDPOINT).and_then(named))
        .or_else(from_environment);
    connection.metadata.clone_from(&config.imds_endpoint);
    if let Some(seconds) = definition.get(SECONDS).and_then(|seconds| seconds.parse().ok()) {
        connection.attempt = Duration::from_secs(seconds);
    }
    Ok(Arc::new(SdkEc2::new(&connection)?))
}

/// A daemon without the feature refuses the configuration, so this is never called.
///
/// # Errors
/// Always.
#[cfg(not(feature = "aws"))]
pub(crate) fn ec2(_: &AwsTable, _: &Attributes, _: &str) -> anyhow::Result<Arc<dyn Ec2>> {
    anyhow::bail!("this tenured was built without its feature `aws`")
}
