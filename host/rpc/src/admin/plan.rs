//! The network whose plan is explained.

use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::node::AdminNode;
use crate::v1;

/// Explains the plan of a network; if its name is empty, of the only one that is planned.
pub(super) async fn explain(node: &dyn AdminNode, network: &str) -> Result<v1::ExplainPlanResponse> {
    node.explain(&chosen(node.planned(), network)?).await
}

/// The network of this name among those that are planned.
fn chosen(mut planned: Vec<NetworkName>, network: &str) -> Result<NetworkName> {
    let found = planned.iter().position(|known| known.as_str() == network);
    // Without a name, one network leaves no choice.
    match found.or_else(|| (network.is_empty() && planned.len() == 1).then_some(0)) {
        Some(index) => Ok(planned.swap_remove(index)),
        None => Err(Error::new(ErrorCode::NoPlan, unplanned(&planned, network))),
    }
}

/// Says why there is no plan to explain.
fn unplanned(planned: &[NetworkName], network: &str) -> String {
    let names: Vec<_> = planned.iter().map(NetworkName::as_str).collect();
    match (names.as_slice(), network) {
        ([], _) => "neither a cluster nor AWS interfaces supply a network's pools on this node".to_owned(),
        (names, "") => format!("several networks are planned on this node: name one of {}", names.join(", ")),
        (names, network) => {
            format!("network {network:?} is not planned on this node, which plans {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_network_need_not_be_named_and_another_one_is_refused_with_those_that_there_are() {
        let chosen = |planned: &[&str], network: &str| {
            let planned = planned.iter().map(|name| NetworkName::new(*name).unwrap()).collect();
            chosen(planned, network)
        };
        assert_eq!(chosen(&["pods"], "").unwrap().as_str(), "pods");
        assert_eq!(chosen(&["pods", "blue"], "blue").unwrap().as_str(), "blue");
        for (planned, network, words) in [
            (&["pods", "blue"][..], "", "several networks are planned on this node: name one of pods, blue"),
            (&[], "", "neither a cluster nor AWS interfaces supply a network's pools on this node"),
            (&[], "pods", "neither a cluster nor AWS interfaces supply a network's pools on this node"),
            (&["pods"], "red", "network \"red\" is not planned on this node, which plans pods"),
        ] {
            let error = chosen(planned, network).unwrap_err();
            assert_eq!((error.code, error.cause.as_str()), (ErrorCode::NoPlan, words));
        }
    }
}
