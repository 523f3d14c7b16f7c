//! Imports: translates between messages and the engine's types.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, stream};
use tenure_engine::{Abandon, Claim, Engine, Import, ImportOrigin, Imported, Importing, Place};
use tenure_types::cni::Configuration;
use tenure_types::{ContainerId, Error, ErrorCode, InterfaceName, NetworkName, Owner, PodIdentity, Result};
use tonic::transport::server::UdsConnectInfo;
use tonic::{Request, Status, Streaming};

use crate::cni::network_config;
use crate::status::to_status;
use crate::v1;

/// The answer to a streamed import.
pub(super) type OutcomeStream = Pin<Box<dyn Stream<Item = Result<v1::ImportOutcomes, Status>> + Send>>;

/// An import in progress.
struct Session {
    engine: Arc<Engine>,
    importing: Importing,
    source: String,
}

/// Ends imports that were cut off, or lets go of the source of one that has ended.
pub(super) async fn abandon(
    engine: &Engine,
    request: v1::AbandonImportRequest,
) -> Result<v1::AbandonImportResponse> {
    let v1::AbandonImportRequest { network, source, reason, apply } = request;
    let network = NetworkName::new(&network).map_err(|error| Error::new(ErrorCode::UnknownNetwork, error))?;
    let source = Some(source).filter(|source| !source.is_empty());
    let abandoned = engine.abandon_moves(&Abandon { network, source, reason, apply }).await?;
    let imports = abandoned.moves.iter().map(|open| v1::OpenImport {
        source: open.source.to_string(),
        by: open.by.to_string(),
        entries: open.entries,
        reached: open.reached,
        begun_at_ms: open.at.wall_ms,
    });
    let source = abandoned.source.iter();
    let let_go =
        source.map(|source| v1::OpenImport { source: source.to_string(), ..v1::OpenImport::default() });
    Ok(v1::AbandonImportResponse { imports: imports.chain(let_go).collect() })
}

/// Describes the caller for people.
pub(super) fn caller<T>(request: &Request<T>) -> String {
    let known = request.extensions().get::<UdsConnectInfo>().and_then(|info| info.peer_cred);
    known.map_or_else(String::new, |caller| match caller.pid() {
        Some(pid) => format!("uid {}, pid {pid}", caller.uid()),
        None => format!("uid {}", caller.uid()),
    })
}

/// An import in a single message.
pub(super) async fn import(
    engine: &Arc<Engine>,
    by: String,
    request: v1::ImportRequest,
) -> Result<v1::ImportResponse> {
    let v1::ImportRequest { network, config, entries, apply } = request;
    let head =
        v1::ImportHead { network, config, apply, source: "import".to_owned(), ..v1::ImportHead::default() };
    let head = v1::ImportHead { entries: entries.len() as u64, ..head };
    let mut session = begin(engine, by, head).await?;
    let outcomes = session.judge(&entries).await?;
    session.end().await?;
    Ok(v1::ImportResponse { outcomes })
}

/// An import as a stream of messages, each answered by one.
pub(super) async fn import_all(
    engine: &Arc<Engine>,
    by: String,
    mut parts: Streaming<v1::ImportPart>,
) -> Result<OutcomeStream, Status> {
    let first = parts.message().await?.unwrap_or_default();
    let session =
        begin(engine, by, first.head.unwrap_or_default()).await.map_err(|error| to_status(&error))?;
    let state = (session, parts, Some(first.entries));
    let answers = stream::try_unfold(state, async |(mut session, mut parts, first)| {
        let entries = match first {
            Some(entries) => Some(entries),
            None => parts.message().await?.map(|part| part.entries),
        };
        let Some(entries) = entries else {
            session.end().await.map_err(|error| to_status(&error))?;
            return Ok(None);
        };
        let outcomes = session.judge(&entries).await.map_err(|error| to_status(&error))?;
        Ok(Some((v1::ImportOutcomes { outcomes }, (session, parts, None))))
    });
    Ok(Box::pin(answers))
}

async fn begin(engine: &Arc<Engine>, by: String, head: v1::ImportHead) -> Result<Session> {
    let v1::ImportHead { network, config, apply, source, exclusive, entries } = head;
    let network = NetworkName::new(&network).map_err(|error| Error::new(ErrorCode::UnknownNetwork, error))?;
    let definition = match config.as_slice() {
        [] => None,
        text => {
            let config = Configuration::parse(text)?;
            if *config.name() != network {
                let cause = format_args!("the configuration is for network {}, not {network}", config.name());
                return Err(Error::new(ErrorCode::InvalidConfig, cause));
            }
            Some((config.policy()?, Arc::new(network_config(&config)?)))
        }
    };
    let origin = ImportOrigin { source: source.clone(), by, entries };
    let import = Import { network, origin, definition, exclusive, apply };
    let beginning = Arc::clone(engine);
    let runtime = tokio::runtime::Handle::current();
    // This may run a policy to define the network, and a dry run copies a book: neither may block an async worker.
    let begin = move || runtime.block_on(beginning.begin_import(&import));
    let importing = tokio::task::spawn_blocking(begin)
        .await
        .map_err(|error| Error::new(ErrorCode::Internal, error))??;
    Ok(Session { engine: Arc::clone(engine), importing, source })
}

impl Session {
    async fn end(self) -> Result<()> {
        self.engine.end_import(self.importing).await
    }

    async fn judge(&mut self, entries: &[v1::ImportEntry]) -> Result<Vec<v1::ImportOutcome>> {
        // An entry without a valid address is refused on its own; its outcome keeps its place among the others.
        let (mut claims, mut unreadable) = (Vec::new(), Vec::new());
        for entry in entries {
            let read = read(entry, &self.source);
            unreadable.push(read.as_ref().err().cloned());
            claims.extend(read);
        }
        let mut imported = self.engine.import(&mut self.importing, &claims).await?.into_iter();
        let outcomes = unreadable.into_iter().map(|error| match error {
            Some(error) => outcome(Err(error)),
            None => imported.next().map_or_else(v1::ImportOutcome::default, outcome),
        });
        Ok(outcomes.collect())
    }
}

fn read(entry: &v1::ImportEntry, source: &str) -> Result<Claim> {
    let place = |(index, text): (usize, &String)| {
        let address = text.parse::<IpAddr>().map_err(|_| format!("{text:?} is not an IP address"))?;
        Ok(Place { address, claim: entry.claims.get(index).cloned().unwrap_or_default() })
    };
    let read = entry.addresses.iter().enumerate().map(place);
    let (places, broken): (Vec<_>, Vec<_>) = read.partition(std::result::Result::is_ok);
    let places: Vec<Place> = places.into_iter().flatten().collect();
    // The addresses beside it may be in use, too, but not by whom.
    let broken = broken.into_iter().find_map(std::result::Result::err);
    let owner = match (broken, places.is_empty()) {
        (None, _) => owner(entry),
        (Some(broken), false) => Err(broken),
        (Some(broken), true) => return Err(Error::new(ErrorCode::InvalidConfig, broken)),
    };
    let pod = (!entry.pod_name.is_empty()).then(|| PodIdentity {
        namespace: entry.pod_namespace.as_str().into(),
        name: entry.pod_name.as_str().into(),
        uid: Box::default(),
    });
    let claimed_at_ms = Some(entry.claimed_at_ms).filter(|claimed| *claimed > 0);
    Ok(Claim { owner, places, pod, source: source.to_owned(), claimed_at_ms })
}

/// The owner of the addresses, or why it is unknown.
fn owner(entry: &v1::ImportEntry) -> Result<Owner, String> {
    if !entry.unknown_because.is_empty() {
        return Err(entry.unknown_because.clone());
    }
    let container = ContainerId::new(&entry.container_id).map_err(|error| error.to_string())?;
    let interface = InterfaceName::new(&entry.interface).map_err(|error| error.to_string())?;
    Ok(Owner::Attachment { container, interface })
}

fn outcome(imported: Result<Imported>) -> v1::ImportOutcome {
    let (outcome, reason) = match imported {
        Ok(Imported::Taken) => ("taken", String::new()),
        Ok(Imported::Held) => ("held", String::new()),
        Ok(Imported::Released) => ("released", String::new()),
        Ok(Imported::Unknown(why)) => ("unknown", why),
        Err(error) => ("refused", error.cause),
    };
    v1::ImportOutcome { outcome: outcome.to_owned(), reason }
}
