//! Components that share a user, and runs of one that follow each other.

use anyhow::ensure;
use tenure_rpc::status::from_status;
use tenure_rpc::v1::{
    Claim, ClaimId, ClaimSpec, DeclareClaimsRequest, DeclareClaimsResponse, EnsureClaimRequest, Family,
    ListClaimsRequest, ReleaseClaimRequest, WatchClaimsRequest, WatchClaimsResponse,
};
use tenure_types::{Error, ErrorCode};

use super::agent::{Agent, Connected, claim, next};
use super::{own, start};

/// The names of claims, with their scopes.
fn told(claims: &[Claim]) -> Vec<String> {
    claims.iter().map(|claim| format!("{}:{}", claim.scope, claim.name)).collect()
}

fn code<T>(answer: Result<T, Error>) -> Option<ErrorCode> {
    answer.err().map(|error| error.code)
}

impl Connected {
    async fn declares(&mut self, request: DeclareClaimsRequest) -> Result<DeclareClaimsResponse, Error> {
        Ok(self.0.declare(request).await.map_err(|status| from_status(&status))?.into_inner())
    }

    async fn lists_of(&mut self, scope: Option<&str>) -> Result<Vec<String>, Error> {
        let request = ListClaimsRequest { scope: scope.map(str::to_owned), ..Default::default() };
        let answer = self.0.list(request).await.map_err(|status| from_status(&status))?;
        Ok(told(&answer.into_inner().claims))
    }

    async fn ensures_as(&mut self, scope: &str, claim: ClaimSpec) -> Result<Claim, Error> {
        let request =
            EnsureClaimRequest { claim: Some(claim), scope: scope.to_owned(), ..Default::default() };
        let answer = self.0.ensure(request).await.map_err(|status| from_status(&status))?;
        Ok(answer.into_inner().claim.unwrap_or_default())
    }

    async fn releases_if(&mut self, request: ReleaseClaimRequest) -> Result<bool, Error> {
        Ok(self.0.release(request).await.map_err(|status| from_status(&status))?.into_inner().existed)
    }
}

fn of(scope: &str, names: &[&str]) -> DeclareClaimsRequest {
    let claims = names.iter().map(|name| claim(name)).collect();
    DeclareClaimsRequest { claims, scope: scope.to_owned(), ..Default::default() }
}

fn ended(response: &WatchClaimsResponse) -> Vec<String> {
    let name = |ended: &tenure_rpc::v1::EndedClaim| ended.claim.clone().unwrap_or_default().name;
    response.ended.iter().map(name).collect()
}

pub(crate) fn apart() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&own(""))?;
    agent.does(async |agent| {
        agent.declares(of("router", &["router", "spare"])).await?;
        agent.declares(of("ingress", &["v4"])).await?;
        agent.ensures_as("", claim("plain")).await.map(drop)
    })??;
    daemon.kill()?;
    daemon.start_again()?;
    let shown = daemon.ctl(&["claims"])?;
    ensure!(shown.pointer("/claims/1/scope").is_some_and(|scope| scope == "router"), "{shown}");
    let told = agent.does(async |agent| {
        let request = WatchClaimsRequest { scope: Some("router".to_owned()), ..Default::default() };
        let watch = agent.0.watch(request).await.map_err(|status| from_status(&status))?;
        let mut watch = watch.into_inner();
        let mut all = vec![format!("{:?}", told(&next(&mut watch).await?.claims))];
        // What another component does is not told; that it takes a claim over is, as an end.
        agent.declares(of("ingress", &[])).await?;
        agent.declares(of("", &[])).await?;
        let mut takes_over = of("ingress", &["spare"]);
        takes_over.from_scope = Some("router".to_owned());
        let kept = agent.declares(takes_over).await?.kept;
        all.push(format!("{:?}", told(&kept)));
        let change = next(&mut watch).await?;
        all.push(format!("{:?} {:?} {}", told(&change.claims), ended(&change), change.is_all));
        for scope in [None, Some("router"), Some("ingress"), Some("")] {
            all.push(format!("{:?}", agent.lists_of(scope).await?));
        }
        all.push(format!("{:?}", code(agent.ensures_as("ingress", claim("router")).await)));
        Ok(all)
    })??;
    let expected = [
        r#"["router:router", "router:spare"]"#,
        r#"["ingress:spare"]"#,
        r#"[] ["spare"] false"#,
        r#"["router:router", "ingress:spare"]"#,
        r#"["router:router"]"#,
        r#"["ingress:spare"]"#,
        "[]",
        "Some(ClaimOfAnotherScope)",
    ];
    ensure!(told == expected, "{told:#?}");
    Ok(())
}

pub(crate) fn succeeded() -> anyhow::Result<()> {
    let (mut daemon, agent) = start(&own(""))?;
    let by = |holder: &str| ClaimSpec {
        holder: holder.to_owned(),
        optional_families: vec![Family::Ipv6.into()],
        ..claim("router")
    };
    let (old, new) = (by("old-pod"), by("new-pod"));
    let claimed = agent.does(async move |agent| {
        let before = agent.ensures_as("", old).await?;
        let after = agent.ensures_as("", new).await?;
        Ok((before, after))
    })??;
    let (before, after) = claimed;
    ensure!(before.addresses == after.addresses && before.generation == after.generation, "{after:?}");
    let missing = after.missing_families.first().map(|missing| (missing.family(), missing.reason.clone()));
    ensure!(missing == Some((Family::Ipv6, "no-pool".to_owned())), "{after:?}");
    daemon.kill()?;
    daemon.start_again()?;
    let release = |holder: &str, generation: u64| ReleaseClaimRequest {
        claim: Some(ClaimId { network: "pods".to_owned(), name: "router".to_owned() }),
        holder: Some(holder.to_owned()),
        generation: Some(generation),
        ..Default::default()
    };
    let does = |agent: &Agent, request: ReleaseClaimRequest| {
        agent.does(async move |agent| Ok(agent.releases_if(request).await))
    };
    let refused = does(&agent, release("old-pod", after.generation))??;
    ensure!(code(refused) == Some(ErrorCode::ClaimSuperseded), "the old run released it");
    let other = (after.generation + 1).to_string();
    let by_hand =
        daemon.ctl(&["claims", "release", "cilium", "pods", "router", "--generation", &other, "--apply"]);
    ensure!(
        by_hand.is_err() && agent.lists()??.len() == 1,
        "an operator released another claim: {by_hand:?}"
    );
    let refused = does(&agent, release("new-pod", after.generation + 1))??;
    ensure!(code(refused) == Some(ErrorCode::ClaimSuperseded), "another generation was released");
    ensure!(does(&agent, release("new-pod", after.generation))?? == Ok(true));
    ensure!(agent.lists()??.is_empty());
    Ok(())
}
