//! Components that share a user, as their authors write them with the clients' own means: a scope for each.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use tenure_e2e::Daemon;

use super::example::{Claims, Example};
use super::{NETWORK, config};

/// The scope of each claim, by its name.
fn scopes(daemon: &Daemon) -> anyhow::Result<Vec<(String, String)>> {
    let shown = daemon.ctl(&["claims"])?;
    let text = |claim: &serde_json::Value, key: &str| {
        claim.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let claims = shown.get("claims").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    Ok(claims.iter().map(|claim| (text(claim, "name"), text(claim, "scope"))).collect())
}

/// Checks the duties of any client with a scope, on its example.
pub(crate) fn keep_their_own(program: &Path) -> anyhow::Result<()> {
    let daemon = Daemon::start_with(&config(NETWORK))?;
    let socket = daemon.run_directory().join(tenure_rpc::AGENT_SOCKET);
    let start = |scopes: &[(&str, &str)], names: &[&str]| {
        let mut command = Command::new(program);
        command.arg(&socket).arg("pods").args(names).envs(scopes.iter().copied());
        Example::start(command)
    };
    let [router, ingress] = ["router", "ingress"].map(|scope| [("AGENT_SCOPE", scope)]);
    let mut one = start(&router, &["v4", "health"])?;
    let first = one.knows("current", 2)?;
    let mut other = start(&ingress, &["public"])?;
    let public = other.knows("current", 1)?;
    // One that names no scope is about its own as well.
    let mut plain = start(&[], &["probe"])?;
    plain.knows("current", 1)?;

    // Another run of a component, with fewer claims: the others keep theirs.
    one.kill();
    let mut one = start(&router, &["health"])?;
    let left = one.knows("current", 1)?;
    ensure!(left.get("health") == first.get("health"), "{left:?}");
    let known = |name: &str, scope: &str| (name.to_owned(), scope.to_owned());
    let expected = [known("health", "router"), known("probe", ""), known("public", "ingress")];
    ensure!(scopes(&daemon)? == expected, "{:?}", scopes(&daemon)?);

    // What belongs to another is refused, unless it is taken over with its address.
    let mut thief = start(&router, &["health", "public"])?;
    thief.knows("away", 0)?;
    let said = thief.kill();
    ensure!(said.iter().any(|line| line.contains("claim-of-another-scope")), "{said:?}");
    other.kill();
    let renamed = [("AGENT_SCOPE", "gateway"), ("AGENT_FROM_SCOPE", "ingress")];
    let moved: Claims = start(&renamed, &["public"])?.knows("current", 1)?;
    ensure!(moved == public, "{moved:?} after {public:?}");
    plain.kill();
    let renamed = [("AGENT_SCOPE", "probes"), ("AGENT_FROM_SCOPE", "")];
    start(&renamed, &["probe"])?.knows("current", 1)?;
    let expected = [known("health", "router"), known("probe", "probes"), known("public", "gateway")];
    ensure!(scopes(&daemon)? == expected, "{:?}", scopes(&daemon)?);
    Ok(())
}
