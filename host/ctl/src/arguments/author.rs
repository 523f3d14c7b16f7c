//! `tenurectl policy`, the author's side: nothing here needs a daemon.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Subcommand, ValueHint};

use crate::author;

/// The environment variable for where the SDK comes from.
const SDK: &str = "TENURE_SDK";

#[derive(Debug, Subcommand)]
pub(crate) enum Author {
    /// Create a folder with a new policy, ready to build and test.
    #[command(after_help = "Examples:
  tenurectl policy new zones
  tenurectl policy new zones --sdk ../tenure/sdk
  tenurectl policy new zones --sdk https://git.example.com/tenure.git")]
    New {
        /// The folder to create; its name becomes the policy's.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// The language of the policy.
        #[arg(long, default_value = "rust", value_parser = PossibleValuesParser::new(author::names()))]
        language: String,
        /// Where the SDK comes from: a version, the address of a git repository, or the path of its `sdk` folder
        /// [default: this program's version].
        #[arg(long, env = SDK, value_name = "SOURCE")]
        sdk: Option<String>,
    },
    /// Build a policy: writes DIR/policy.wasm.
    #[command(after_help = "Examples:
  tenurectl policy build zones

If a tool is missing, the error says which, and how to get it.")]
    Build {
        /// The folder of the policy.
        #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}
