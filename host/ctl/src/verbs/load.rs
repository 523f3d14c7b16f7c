//! `policy load`: a component from a file or a registry, on its way to the daemon.

use std::path::Path;
use std::time::Duration;

use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};

use super::file::{self, component_name};
use crate::arguments::LoadArguments;
use crate::daemon::Daemon;
#[cfg(feature = "registry")]
use crate::registry::{self, Pull};
use crate::render::Report;
use crate::report::LoadedPolicy;

/// The size of a piece of a component on the wire, in bytes.
const PIECE: usize = 1 << 20;

/// A component and what is said about it.
struct ComponentFile {
    bytes: Vec<u8>,
    name: String,
    source: String,
    signature: Option<String>,
}

#[cfg_attr(
    not(feature = "registry"),
    expect(unused_variables, reason = "some arguments are about registries only")
)]
pub(super) async fn load(
    daemon: &Daemon,
    arguments: LoadArguments,
    patience: Duration,
) -> Result<Report, Error> {
    let LoadArguments { named, source, name, sha256, signature, older, unpinned, plain_http } = arguments;
    let component = match source.to_str() {
        #[cfg(feature = "registry")]
        Some(reference) if registry::is_reference(reference) => {
            pulled(reference, Pull { unpinned, plain_http, patience })?
        }
        #[cfg(not(feature = "registry"))]
        Some(reference) if reference.starts_with("oci://") => {
            let cause = format_args!("{reference}: this tenurectl was built without the feature `registry`");
            return Err(Error::new(ErrorCode::InvalidReference, cause));
        }
        _ => read(&source)?,
    };
    let signature = match signature {
        Some(path) => Some(text(&path)?),
        None => component.signature,
    };
    let head = v1::LoadPolicyHead {
        name: named.or(name).unwrap_or(component.name),
        sha256: sha256.unwrap_or_default(),
        signature: signature.unwrap_or_default(),
        source: component.source.clone(),
        older,
    };
    let mut head = Some(head);
    let pieces: Vec<_> = component
        .bytes
        .chunks(PIECE)
        .map(|piece| v1::LoadPolicyPart { head: head.take(), piece: piece.to_vec() })
        .collect();
    let parts = futures_util::stream::iter(pieces);
    let answer = daemon.call(async |mut admin| admin.load_policy(parts).await).await?;
    Ok(Report::of(LoadedPolicy { source: component.source, answer }))
}

/// A component from a registry.
#[cfg(feature = "registry")]
fn pulled(reference: &str, pull: Pull) -> Result<ComponentFile, Error> {
    let registry::Pulled { bytes, source, name, signature } = registry::pull(reference, pull)?;
    filled(&source, &bytes)?;
    Ok(ComponentFile { bytes, name, source, signature })
}

/// A component from a file, with the signature beside it.
fn read(path: &Path) -> Result<ComponentFile, Error> {
    let bytes = tenure_policy::read_component(path).map_err(|error| file::unreadable(path, &error))?;
    filled(&path.display().to_string(), &bytes)?;
    let signature = path.with_added_extension("minisig");
    let signature = if signature.exists() { Some(text(&signature)?) } else { None };
    let name = component_name(path);
    let source = std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    Ok(ComponentFile { bytes, name, source, signature })
}

fn text(path: &Path) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&file::read(path)?).into_owned())
}

fn filled(source: &str, bytes: &[u8]) -> Result<(), Error> {
    match bytes.is_empty() {
        true => Err(Error::new(ErrorCode::PolicyUnloadable, format_args!("{source}: it is empty"))),
        false => Ok(()),
    }
}
