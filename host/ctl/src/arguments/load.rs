//! The arguments of `tenurectl policy load` and `policy pull`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::values;

#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// The policy's name, before the component; the same as --name.
    #[arg(value_name = "NAME", conflicts_with = "name")]
    pub(crate) named: Option<String>,
    /// The component: a file, or oci://HOST/REPOSITORY@sha256:DIGEST.
    #[arg(required = true, value_name = "FILE|oci://...", value_hint = ValueHint::FilePath)]
    pub(crate) source: PathBuf,
    /// The policy's name [default: the file's name without its extension, that of its folder for policy.wasm, or the repository's last part].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The component's expected SHA-256; another one is refused.
    #[arg(long, value_name = "DIGEST", value_parser = values::sha256)]
    pub(crate) sha256: Option<String>,
    /// The component's signature [default: FILE.minisig, or the one in the registry's manifest].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) signature: Option<PathBuf>,
    /// Accept a signed version that is older than one that the node has accepted under this name.
    #[arg(long)]
    pub(crate) older: bool,
    /// Accept a tag without a digest; the output has the digest that it stands for now.
    #[arg(long)]
    pub(crate) unpinned: bool,
    /// Ask the registry over HTTP instead of HTTPS, as is always done on loopback.
    #[arg(long)]
    pub(crate) plain_http: bool,
}

#[cfg(feature = "registry")]
#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// A JSON object with the policies' names and their references, oci://HOST/REPOSITORY@sha256:DIGEST.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) references: PathBuf,
    /// The directory of the components; nothing else writes into it.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// Stay until a signal, and pull what changes; for a container beside the daemon's.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Ask the registries over HTTP instead of HTTPS, as is always done on loopback.
    #[arg(long)]
    pub(crate) plain_http: bool,
}
