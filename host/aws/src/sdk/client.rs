//! The SDK's client: where it connects to, with what patience, and with whose credentials.
//!
//! Everything that the SDK would otherwise take from its defaults or from files is set here: no retries, its time-outs, the
//! cache of credentials, and TLS by rustls with `ring`, as in the rest of the workspace.

use std::time::Duration;

use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_sdk_ec2::config::retry::RetryConfig;
use aws_sdk_ec2::config::timeout::TimeoutConfig;
use aws_sdk_ec2::config::{
    BehaviorVersion, IdentityCache, Region, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::tls;

/// The address of EC2, and the time limits of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ec2Connection {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// EC2's address as a URL; without it, that of the region.
    pub endpoint: Option<String>,
    /// The metadata service's address as a URL, for the credentials of the instance's role; without it, that of
    /// `AWS_EC2_METADATA_SERVICE_ENDPOINT`, or the link-local one.
    pub metadata: Option<String>,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long a request may take, connecting and finding credentials included.
    pub attempt: Duration,
}

impl Ec2Connection {
    /// EC2 of a region, with 3 seconds to connect and 15 for a request.
    #[must_use]
    pub fn new(region: impl Into<String>) -> Self {
        Self {
            region: region.into(),
            endpoint: None,
            metadata: None,
            connect: Duration::from_secs(3),
            attempt: Duration::from_secs(15),
        }
    }
}

/// How long finding credentials may take. The chain may have to ask the metadata service, or STS.
const CREDENTIALS: Duration = Duration::from_secs(5);

/// Credentials are renewed so long before they expire, so that a failure of their source costs no call. The metadata service
/// has new ones five minutes before.
const RENEWAL: Duration = Duration::from_secs(2 * 60);

/// An address that is not a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("address {0:?} is not a URL")]
pub struct InvalidAddress(String);

/// Makes a client.
pub(super) fn build(connection: &Ec2Connection) -> Result<aws_sdk_ec2::Client, InvalidAddress> {
    let http = aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(connection.connect)
        .operation_attempt_timeout(connection.attempt)
        .operation_timeout(connection.attempt)
        .build();
    let cache = IdentityCache::lazy().load_timeout(CREDENTIALS).buffer_time(RENEWAL).build();
    let mut config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(connection.region.clone()))
        .credentials_provider(credentials(connection, &http)?)
        .identity_cache(cache)
        // One attempt: the caller has the budget, and knows which calls may be repeated.
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        // Answers are small, and the attempt's time-out covers their bodies; this would only be another way to fail.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http);
    config.set_endpoint_url(connection.endpoint.clone());
    Ok(aws_sdk_ec2::Client::from_conf(config.build()))
}

/// Builds the chain of credential sources, in the SDK's order: the environment, a web identity, the pod's identity, the
/// instance's role. Not in files of a home directory: a node's daemon has none.
fn credentials(
    connection: &Ec2Connection,
    http: &SharedHttpClient,
) -> Result<CredentialsProviderChain, InvalidAddress> {
    let config = ProviderConfig::without_region()
        .with_behavior_version(Some(BehaviorVersion::v2026_01_12()))
        .with_region(Some(Region::new(connection.region.clone())))
        .with_http_client(http.clone());
    let mut metadata = aws_config::imds::Client::builder().configure(&config);
    if let Some(address) = &connection.metadata {
        metadata = metadata.endpoint(address).map_err(|_| InvalidAddress(address.clone()))?;
    }
    let role = ImdsCredentialsProvider::builder().configure(&config).imds_client(metadata.build()).build();
    let web = WebIdentityTokenCredentialsProvider::builder().configure(&config).build();
    let pod = EcsCredentialsProvider::builder().configure(&config).build();
    Ok(CredentialsProviderChain::first_try("environment", EnvironmentVariableCredentialsProvider::new())
        .or_else("web identity", web)
        .or_else("pod identity", pod)
        .or_else("instance role", role))
}
