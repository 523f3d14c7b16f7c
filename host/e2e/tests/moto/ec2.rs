//! EC2's query protocol by hand, for what no program of ours calls, and for answers as they are on the wire.

use std::path::PathBuf;

use anyhow::ensure;
use tenure_e2e::request;

use crate::element::Element;
use crate::eni::Node;

/// The region of the accounts.
pub(crate) const REGION: &str = "eu-central-1";

/// An EC2 service on a node.
pub(crate) struct Ec2 {
    netns: PathBuf,
    address: &'static str,
    /// More lines of a request's head.
    head: Vec<String>,
}

impl Ec2 {
    /// One that takes calls without a signature.
    pub(crate) fn new(node: &Node, address: &'static str) -> anyhow::Result<Self> {
        let head = vec!["Content-Type: application/x-www-form-urlencoded".to_owned()];
        Ok(Self { netns: node.own(), address, head })
    }

    /// One that knows by a call's signature which service is meant, and does not compute it.
    pub(crate) fn signed(node: &Node, address: &'static str) -> anyhow::Result<Self> {
        let mut ec2 = Self::new(node, address)?;
        ec2.head.push(format!(
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/{REGION}/ec2/aws4_request, \
             SignedHeaders=host, Signature=0"
        ));
        Ok(ec2)
    }

    /// The answer to a call, which may be a refusal.
    pub(crate) fn ask(&self, action: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Element> {
        let given = parameters.iter().map(|(name, value)| format!("&{name}={value}"));
        let form = format!("Action={action}&Version=2016-11-15{}", given.collect::<String>());
        Element::parse(&request::ask(&self.netns, self.address, "POST /", &self.head, &form)?.body)
    }

    /// The answer to a call that succeeds.
    pub(crate) fn call(&self, action: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Element> {
        let answer = self.ask(action, parameters)?;
        ensure!(answer.name() == format!("{action}Response"), "{action} {parameters:?}: {answer:?}");
        Ok(answer)
    }

    /// The body of another page of the same service.
    pub(crate) fn page(&self, path: &str) -> anyhow::Result<String> {
        Ok(request::ask(&self.netns, self.address, &format!("GET {path}"), &[], "")?.body)
    }
}
