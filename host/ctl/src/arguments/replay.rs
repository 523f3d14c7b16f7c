//! `tenurectl policy replay`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The decisions to replay, and the component.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The component.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Recorded decisions: a file, a network's folder, or the folder of all networks.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) record: PathBuf,
}
