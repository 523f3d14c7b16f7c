//! The rights of the agents' account: the daemon's list of what it needs, against the role and the policy of the chart.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams};
use kube::client::Body;
use tenure_cluster::access::{ClusterAccess, ClusterUses, OF_BLOCKS, OF_PODS, access};

use crate::Test;
use crate::agents::{agent, token};
use crate::cluster::{Cluster, NAMESPACE};

pub(crate) const TESTS: &[Test] = &[
    ("access::the_role_has_what_the_daemon_needs_and_nothing_else", exact),
    ("access::a_daemon_learns_what_it_may_not_do", lacking),
    ("access::requests_of_agents_and_of_the_operator_have_priority_levels_of_their_own", queued),
];

/// The role of the agents, its binding, and the flow schema of their requests.
const ROLE: &str = "tenure-system-tenure-agent";

fn ask(cluster: &Cluster, client: &kube::Client) -> anyhow::Result<ClusterAccess> {
    let uses = ClusterUses { leases: true, pods: true, ..ClusterUses::default() };
    Ok(cluster.runtime.block_on(access(client, "node-a", uses))?)
}

fn exact(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    let found = ask(cluster, &agent)?;
    ensure!(found.user == format!("system:serviceaccount:{NAMESPACE}:tenure-agent"), "{}", found.user);
    for (right, allowed) in &found.rights {
        ensure!(*allowed != right.purpose.is_empty(), "{right:?}: {allowed}");
    }
    ensure!(found.own_refused.is_none() && !found.others_accepted, "{found:?}");
    let roles: Api<ClusterRole> = Api::all(cluster.client.clone());
    let mut granted = BTreeSet::new();
    for rule in cluster.call(roles.get(ROLE))?.rules.unwrap_or_default() {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                granted.extend(rule.verbs.iter().map(|verb| [verb.clone(), group.clone(), resource.clone()]));
            }
        }
    }
    let needed = OF_BLOCKS.iter().chain(OF_PODS);
    let needed: BTreeSet<_> =
        needed.map(|right| [right.verb, right.group, right.resource].map(str::to_owned)).collect();
    ensure!(granted == needed, "the role has {granted:?}, the daemon needs {needed:?}");
    Ok(())
}

fn lacking(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    let unbound = cluster.connect(&token(cluster, "tenure-agent", None)?, "")?;
    let refused = ask(cluster, &unbound)?.own_refused.unwrap_or_default();
    ensure!(refused.contains("bound to no node"), "{refused}");
    // No policy keeps an administrator's kubeconfig from writing for any node.
    let administrator = ask(cluster, &cluster.client)?;
    ensure!(administrator.others_accepted && administrator.own_refused.is_none(), "{administrator:?}");
    let spare = administrator.rights.iter().filter(|(right, _)| right.purpose.is_empty());
    ensure!(spare.clone().count() > 0 && spare.clone().all(|(_, allowed)| *allowed), "{administrator:?}");
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.client.clone());
    cluster.call(bindings.delete(ROLE, &DeleteParams::default()))?;
    let tried = cluster.until("the rights to be gone", || {
        let found = ask(cluster, &agent)?;
        let has_none = found.rights.iter().all(|(_, allowed)| !allowed);
        Ok((has_none && found.own_refused.is_some()).then_some(()))
    });
    cluster.release()?;
    tried
}

/// The API server says with each answer which schema and which level have placed the request.
fn queued(cluster: &Cluster) -> anyhow::Result<()> {
    let agent = agent(cluster, "node-a")?;
    let operator = cluster.connect(&token(cluster, "tenure-operator", None)?, "")?;
    let schemas: Api<FlowSchema> = Api::all(cluster.client.clone());
    let level = |client: &kube::Client, name: &str| {
        let uid = cluster.call(schemas.get(name))?.metadata.uid.context("no uid")?;
        cluster.until("the schema to be in force", || {
            let request = http::Request::get("/api/v1/nodes/node-a").body(Body::empty())?;
            let answer = cluster.call(client.send(request))?;
            let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
            let is_placed = header("x-kubernetes-pf-flowschema-uid") == Some(&*uid);
            Ok(header("x-kubernetes-pf-prioritylevel-uid").filter(|_| is_placed).map(str::to_owned))
        })
    };
    let (of_agents, of_operator) = (level(&agent, ROLE)?, level(&operator, "tenure-system-tenure-operator")?);
    ensure!(of_agents != of_operator, "what an agent asks keeps the operator waiting");
    Ok(())
}
