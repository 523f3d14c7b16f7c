//! EC2 over the AWS SDK, which only a daemon with the feature `aws` has.
//!
//! Requests carry signatures of the node's role, and the answers decide what is attached and detached. So the address is the operator's to
//! say, in tenured.toml or the daemon's environment: nothing that a policy returns leads them elsewhere.

use std::sync::Arc;

use tenure_aws::Ec2;
use tenure_types::Attributes;

use crate::config::AwsTable;

/// The setting of the network that says how long a call may take, in seconds.
#[cfg(feature = "aws")]
const SECONDS: &str = "ec2.timeoutSeconds";
/// The names in the environment of EC2's address, as the AWS SDKs have them; the first counts.
#[cfg(any(feature = "aws", test))]
const ENVIRONMENT: [&str; 2] = ["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"];

/// EC2 of a region, at the address that the configuration or the environment names.
///
/// # Errors
/// If an address is not a URL, or one at which others could listen in.
#[cfg(feature = "aws")]
pub(crate) fn ec2(config: &AwsTable, definition: &Attributes, region: &str) -> anyhow::Result<Arc<dyn Ec2>> {
    let endpoint = endpoint(config, |name| std::env::var(name).ok()).map_err(anyhow::Error::msg)?;
    let connection = connection(config, endpoint, definition, region);
    Ok(Arc::new(tenure_aws::sdk::SdkEc2::new(&connection)?))
}

/// How EC2 of a region is reached at this address. Of the definition, which a policy has returned, only the patience counts.
#[cfg(feature = "aws")]
fn connection(
    config: &AwsTable,
    endpoint: Option<String>,
    definition: &Attributes,
    region: &str,
) -> tenure_aws::sdk::Ec2Connection {
    let mut connection = tenure_aws::sdk::Ec2Connection::new(region);
    connection.endpoint = endpoint;
    connection.metadata.clone_from(&config.imds_endpoint);
    if let Some(seconds) = definition.get(SECONDS).and_then(|seconds| seconds.parse().ok()) {
        connection.attempt = std::time::Duration::from_secs(seconds);
    }
    connection
}

/// EC2's address; `None` is the region's own. What tenured.toml says was checked when it was read.
#[cfg(any(feature = "aws", test))]
fn endpoint(
    config: &AwsTable,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    use crate::config::is_private;

    if let Some(configured) = &config.ec2_endpoint {
        return Ok(Some(configured.clone()));
    }
    let set = |name: &'static str| Some((name, environment(name).filter(|url| !url.is_empty())?));
    match ENVIRONMENT.into_iter().find_map(set) {
        Some((name, url)) if !is_private(&url) => {
            Err(format!("{name} is {url:?}, but must be https://..., except on loopback"))
        }
        found => Ok(found.map(|(_, url)| url)),
    }
}

/// A daemon without the feature refuses the configuration, so this is never called.
///
/// # Errors
/// Always.
#[cfg(not(feature = "aws"))]
pub(crate) fn ec2(_: &AwsTable, _: &Attributes, _: &str) -> anyhow::Result<Arc<dyn Ec2>> {
    anyhow::bail!("this tenured was built without its feature `aws`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(url: Option<&str>, environment: &[(&str, &str)]) -> Result<Option<String>, String> {
        let config = AwsTable { ec2_endpoint: url.map(str::to_owned), ..AwsTable::default() };
        let environment: std::collections::BTreeMap<_, _> = environment.iter().copied().collect();
        endpoint(&config, |name| environment.get(name).map(|url| (*url).to_owned()))
    }

    #[test]
    fn the_configuration_names_ec2_and_then_the_environment() {
        let here = "http://127.0.0.1:8101";
        let both = [("AWS_ENDPOINT_URL", "https://b"), ("AWS_ENDPOINT_URL_EC2", "https://a")];
        assert_eq!(named(None, &[]), Ok(None), "the region's own");
        assert_eq!(named(Some(here), &both), Ok(Some(here.to_owned())));
        assert_eq!(named(None, &both), Ok(Some("https://a".to_owned())));
        assert_eq!(named(None, &both[..1]), Ok(Some("https://b".to_owned())));
        assert_eq!(named(None, &[("AWS_ENDPOINT_URL_EC2", "")]), Ok(None));
    }

    #[cfg(feature = "aws")]
    #[test]
    fn no_attribute_that_a_policy_returns_leads_requests_elsewhere() {
        let evil = "https://ec2.evil.example";
        let names = ["ec2.endpoint", "endpoint", "imds.endpoint", "region"];
        let pairs = names.into_iter().map(|name| (name, evil)).chain([(SECONDS, "7")]);
        let definition = Attributes::new(pairs).unwrap();
        let reached = |config: &AwsTable, endpoint: Option<&str>| {
            let reached = connection(config, endpoint.map(str::to_owned), &definition, "eu-central-1");
            assert_eq!(reached.attempt.as_secs(), 7, "the definition is read");
            (reached.region, reached.endpoint, reached.metadata)
        };
        let region = "eu-central-1".to_owned();
        assert_eq!(reached(&AwsTable::default(), None), (region.clone(), None, None));
        let (here, metadata) = ("http://127.0.0.1:8101", Some("http://127.0.0.1:8102".to_owned()));
        let config = AwsTable { imds_endpoint: metadata.clone(), ..AwsTable::default() };
        assert_eq!(reached(&config, Some(here)), (region, Some(here.to_owned()), metadata));
    }

    #[test]
    fn nothing_is_sent_to_where_others_could_listen_in() {
        let refused = named(None, &[("AWS_ENDPOINT_URL", "http://proxy.example")]).unwrap_err();
        assert!(refused.starts_with("AWS_ENDPOINT_URL is \"http://proxy.example\", but must be https"));
    }
}
