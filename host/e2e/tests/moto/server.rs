//! moto's server on a node, in its enclave.

use std::process::{Child, Stdio};

use anyhow::Context;
use tenure_e2e::{moto, wait};

use crate::ec2::Ec2;
use crate::eni::{LIMIT, Node};

/// The address at which moto serves all of AWS.
pub(crate) const ENDPOINT: &str = "127.0.0.1:8101";

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) ec2: Ec2,
}

impl Server {
    pub(crate) fn start(node: &Node) -> anyhow::Result<Self> {
        let (host, port) = ENDPOINT.split_once(':').context("a port")?;
        let mut command = node.enclave.command(moto::server().context("moto is not installed")?);
        command.args(["--host", host, "--port", port]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, ec2: Ec2::signed(node, ENDPOINT)? };
        wait::holds("moto", LIMIT, || Ok(server.ec2.ask("DescribeRegions", &[]).is_ok()))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with the enclave at the latest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
