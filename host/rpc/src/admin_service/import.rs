//! Imports, from messages to the engine's words and back.

use std::net::IpAddr;

use tenure_engine::{Import, Imported, Living};
use tenure_types::cni::Configuration;
use tenure_types::{ContainerId, Error, ErrorCode, InterfaceName, NetworkName, Owner, PodIdentity, Result};

use super::AdminService;
use crate::cni_service::network_config;
use crate::v1;

impl AdminService {
    pub(super) async fn take_over(&self, request: &v1::ImportRequest) -> Result<v1::ImportResponse> {
        let network = NetworkName::new(&request.network)
            .map_err(|error| Error::new(ErrorCode::UnknownNetwork, error))?;
        let definition = match request.config.as_slice() {
            [] => None,
            text => {
                let config = Configuration::parse(text)?;
                if *config.name() != network {
                    let cause =
                        format_args!("the configuration is of network {}, not {network}", config.name());
                    return Err(Error::new(ErrorCode::InvalidConfig, cause));
                }
                Some((config.policy()?, network_config(&config)?))
            }
        };
        // What cannot be read is refused by itself, and keeps its place among the answers.
        let (mut living, mut unreadable) = (Vec::new(), Vec::new());
        for entry in &request.entries {
            let read = read(entry);
            unreadable.push(read.as_ref().err().cloned());
            living.extend(read);
        }
        let import = Import { network, definition, living, apply: request.apply };
        let mut imported = self.engine.import(import).await?.into_iter();
        let outcomes = unreadable.into_iter().map(|error| match error {
            Some(error) => outcome(Err(error)),
            None => imported.next().map_or_else(v1::ImportOutcome::default, outcome),
        });
        Ok(v1::ImportResponse { outcomes: outcomes.collect() })
    }
}

fn read(entry: &v1::ImportEntry) -> Result<Living> {
    let invalid = |error: &dyn std::fmt::Display| Error::new(ErrorCode::InvalidConfig, error);
    let container = ContainerId::new(&entry.container_id).map_err(|error| invalid(&error))?;
    let interface = InterfaceName::new(&entry.interface).map_err(|error| invalid(&error))?;
    let address = |text: &String| {
        text.parse::<IpAddr>().map_err(|_| invalid(&format!("{text:?} is not an IP address")))
    };
    let addresses = entry.addresses.iter().map(address).collect::<Result<_>>()?;
    let pod = (!entry.pod_name.is_empty()).then(|| PodIdentity {
        namespace: entry.pod_namespace.clone(),
        name: entry.pod_name.clone(),
        uid: String::new(),
    });
    Ok(Living { owner: Owner::Attachment { container, interface }, addresses, pod })
}

fn outcome(imported: Result<Imported>) -> v1::ImportOutcome {
    let (outcome, reason) = match imported {
        Ok(Imported::Taken) => ("taken", String::new()),
        Ok(Imported::Held) => ("held", String::new()),
        Err(error) => ("refused", error.cause),
    };
    v1::ImportOutcome { outcome: outcome.to_owned(), reason }
}
