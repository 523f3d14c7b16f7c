//! An agent's knowledge about its claims: the daemon's latest answer.

use std::collections::BTreeMap;

use crate::problem::Problem;
use crate::v1::{Claim, ClaimId, ClaimSpec, WatchClaimsResponse};

/// An agent's knowledge about its claims.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Known {
    /// The claims, by network and name. While the daemon is away they are what it said last, and still the agent's.
    pub claims: BTreeMap<(String, String), Claim>,
    /// Whether the daemon is there, and the claims are what was declared.
    pub is_current: bool,
    /// The reason for which `is_current` is false; `None` also while the answer to a declaration is awaited.
    pub problem: Option<Problem>,
}

impl Known {
    /// A claim; `None` if the agent does not have it, or not yet.
    #[must_use]
    pub fn claim(&self, network: &str, name: &str) -> Option<&Claim> {
        self.claims.get(&(network.to_owned(), name.to_owned()))
    }

    /// Takes in what the daemon tells.
    pub(crate) fn hear(&mut self, response: WatchClaimsResponse) {
        if response.is_all {
            self.claims.clear();
        }
        for ended in response.ended.into_iter().filter_map(|ended| ended.claim) {
            self.claims.remove(&key(&ended));
        }
        // What was released and claimed again in the meantime is there.
        for mut claim in response.claims {
            if let Some(of) = response.routes.iter().find(|of| of.network == claim.network) {
                claim.routes.clone_from(&of.routes);
            }
            self.claims.insert((claim.network.clone(), claim.name.clone()), claim);
        }
        self.is_current = true;
        self.problem = None;
    }

    /// The first of these claims that the agent does not have. One that was released between its declaration and the watch is only
    /// missing from what the watch tells first.
    pub(crate) fn lacks<'c>(&self, declared: &'c [ClaimSpec]) -> Option<&'c ClaimSpec> {
        declared.iter().find(|claim| self.claim(&claim.network, &claim.name).is_none())
    }

    /// Notes that it may no longer be so.
    pub(crate) fn doubt(&mut self, problem: Option<Problem>) {
        self.is_current = false;
        self.problem = problem;
    }
}

/// The network and the name that identify a claim.
fn key(id: &ClaimId) -> (String, String) {
    (id.network.clone(), id.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ClaimRoute, EndedClaim, NetworkRoutes};

    fn claim(name: &str, generation: u64) -> Claim {
        Claim { network: "pods".to_owned(), name: name.to_owned(), generation, ..Claim::default() }
    }

    fn ended(name: &str) -> EndedClaim {
        let claim = Some(ClaimId { network: "pods".to_owned(), name: name.to_owned() });
        EndedClaim { claim, reason: "operator".to_owned() }
    }

    fn shown(known: &Known) -> Vec<(&str, u64)> {
        known.claims.values().map(|claim| (claim.name.as_str(), claim.generation)).collect()
    }

    #[test]
    fn a_first_response_is_everything_and_later_ones_are_changes() {
        let mut known = Known::default();
        let hear = |known: &mut Known, is_all, claims, ended| {
            known.hear(WatchClaimsResponse { is_all, claims, ended, ..Default::default() });
        };
        hear(&mut known, true, vec![claim("router", 1), claim("health", 2)], Vec::new());
        hear(&mut known, false, vec![claim("ingress", 3)], vec![ended("health")]);
        assert_eq!(shown(&known), [("ingress", 3), ("router", 1)]);
        // One that was released and claimed again.
        hear(&mut known, false, vec![claim("router", 4)], vec![ended("router")]);
        assert_eq!(known.claim("pods", "router").map(|claim| claim.generation), Some(4));
        assert_eq!(known.claim("lan", "router"), None);
        hear(&mut known, true, vec![claim("health", 5)], Vec::new());
        assert_eq!(shown(&known), [("health", 5)]);
    }

    #[test]
    fn a_declared_claim_that_is_not_there_is_missed() {
        let mut known = Known::default();
        let wanted = [crate::claim("pods", "router"), crate::claim("pods", "health")];
        let all = |claims| WatchClaimsResponse { is_all: true, claims, ..Default::default() };
        known.hear(all(vec![claim("router", 1), claim("health", 2)]));
        assert_eq!(known.lacks(&wanted), None);
        known.hear(all(vec![claim("router", 1)]));
        assert_eq!(known.lacks(&wanted), Some(&wanted[1]));
    }

    #[test]
    fn routes_that_come_apart_are_in_the_claims_of_their_network() {
        let route = ClaimRoute { destination: "0.0.0.0/0".to_owned(), ..Default::default() };
        let routes = vec![NetworkRoutes { network: "pods".to_owned(), routes: vec![route.clone()] }];
        let elsewhere = Claim { network: "other".to_owned(), ..claim("health", 2) };
        let claims = vec![claim("router", 1), elsewhere];
        let mut known = Known::default();
        known.hear(WatchClaimsResponse { is_all: true, claims, routes, ..Default::default() });
        let of = |network: &str, name: &str| known.claim(network, name).unwrap().routes.clone();
        assert_eq!((of("pods", "router"), of("other", "health")), (vec![route], Vec::new()));
    }

    #[test]
    fn what_was_known_stays_while_the_daemon_is_away() {
        let mut known = Known::default();
        known.hear(WatchClaimsResponse {
            is_all: true,
            claims: vec![claim("router", 1)],
            ..Default::default()
        });
        known.doubt(Some(Problem::passing("gone".to_owned())));
        assert_eq!((shown(&known), known.is_current), (vec![("router", 1)], false));
        known.hear(WatchClaimsResponse::default());
        assert_eq!((shown(&known), known.is_current), (vec![("router", 1)], true));
        assert_eq!(known.problem, None);
    }
}
