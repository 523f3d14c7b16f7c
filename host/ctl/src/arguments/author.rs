//! `tenurectl policy`, the author's side: nothing here needs a daemon.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueHint};
use tenure_policy::ReleaseVersion;
use tenure_types::{InvalidName, PolicyName};

use crate::author::{language, template};

/// The environment variable for where the SDK comes from.
const SDK: &str = "TENURE_SDK";

fn policy_name(text: &str) -> Result<PolicyName, InvalidName> {
    PolicyName::new(text)
}

/// The network and the pods that a component is tried on.
#[derive(Debug, Args)]
pub(crate) struct TrialOptions {
    /// A file with the `ipam` object of the network to try it on [default: one of 10.1.0.0/24].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) network: Option<PathBuf>,
    /// The namespace of the pods, for a policy that decides by it.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Author {
    /// Create a folder with a new policy, ready to build and test.
    #[command(after_help = "Examples:
  tenurectl policy new zones
  tenurectl policy new racks --template stateful
  tenurectl policy new zones --sdk ../tenure/sdk
  tenurectl policy new zones --sdk https://git.example.com/tenure.git")]
    New {
        /// The folder to create; its name becomes the policy's.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// The language of the policy.
        #[arg(long, default_value = "rust", value_parser = PossibleValuesParser::new(language::names()))]
        language: String,
        /// The template: a policy that keeps a state or that plans its supply is in Rust.
        #[arg(long, default_value = template::PLAIN, value_parser = PossibleValuesParser::new(template::NAMES))]
        template: String,
        /// Source of the SDK: the path of an `sdk` folder, the address of a git repository, or a version in a registry
        /// [default: the one that came with this program].
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
    /// Run a policy's case files in the sandbox: each .txt in DIR/cases.
    #[command(after_help = "Examples:
  tenurectl policy test zones
  tenurectl policy test zones --component zones/policy.wasm

Builds the policy first, unless --component is given. Exits with 1 if a case file fails; the output has its line, what was expected,
and what the policy answered.")]
    Test {
        /// The folder of the policy.
        #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Test this component instead of building one.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        component: Option<PathBuf>,
    },
    /// Check a component: what it imports and exports, and the memory that it needs.
    #[command(after_help = "Examples:
  tenurectl policy check zones/policy.wasm
  tenurectl policy check zones/policy.wasm --network ipam.json
  tenurectl policy check zones/policy.wasm --network ipam.json --namespace shop

The component defines a network and serves one pod of it, with 4, 8, 16 and 32 MiB of memory until that is enough. Exits with 1 if a
node could not use it, and if it refused the network or the pod: one that needs a configuration needs --network, and one that serves
some namespaces only, --namespace.")]
    Check {
        /// The component.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        trial: TrialOptions,
    },
    /// Measure a component's calls in the sandbox, on an empty and on a full network.
    #[command(after_help = "Examples:
  tenurectl policy bench zones/policy.wasm
  tenurectl policy bench zones/policy.wasm --network ipam.json

A policy whose pools the host supplies, such as a planner, cannot be measured: there is no host here.")]
    Bench {
        /// The component.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        trial: TrialOptions,
    },
    /// Pack a component, or the interface as a WIT file, as an OCI image layout, to be pushed to a registry.
    #[command(after_help = "Examples:
  tenurectl policy pack zones/policy.wasm
  tenurectl policy pack wit/ipam/next/ipam.wit --package tenure:supply
  skopeo copy oci:zones/policy.wasm.oci docker://registry.example.com/zones:1
  skopeo inspect --raw docker://registry.example.com/zones:1 | sha256sum
  tenurectl policy load oci://registry.example.com/zones@sha256:...       with the printed digest

If its signature lies beside it, as `policy sign` writes it, it goes into the manifest, and `policy load` finds it there.")]
    Pack {
        /// The component, or a file `.wit`.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The package of a WIT file that has several [default: its own].
        #[arg(long, value_name = "NAME")]
        package: Option<String>,
        /// The layout's folder, which must not exist [default: FILE.oci].
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        to: Option<PathBuf>,
        /// Replace a layout that exists.
        #[arg(long)]
        force: bool,
    },
    /// Sign a component: writes FILE.minisig, in minisign's format.
    #[command(after_help = "Examples:
  minisign -G -s policies.key -p policies.pub
  tenurectl policy sign zones/policy.wasm --key policies.key --name zones --release 1.2.0

The signature is good for a policy of that name only. A node that has accepted a release refuses older ones.
If the key has a password, it is asked for, unless --password-file is given; one of `minisign -G -W` has none.")]
    Sign {
        /// The component.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The secret key, as minisign and rsign write it.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
        /// The name under which nodes load the policy.
        #[arg(long, value_parser = policy_name)]
        name: PolicyName,
        /// The policy's version: up to four numbers, which only ever grow.
        #[arg(long, value_name = "VERSION")]
        release: ReleaseVersion,
        /// A file with the key's password in its first line.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        password_file: Option<PathBuf>,
    },
    /// Wrap a core WebAssembly module as a policy component, for languages without a template.
    #[command(after_help = "Examples:
  tenurectl policy wrap module.wasm
  tenurectl policy wrap module.wasm --to policies/mine.wasm

The module must export the functions of the interface as its language's wit-bindgen does. What it imports of WASI's first version
(wasi_snapshot_preview1) is denied inside of the component: there are no files, no environment and no randomness, and the clock stands
still. What it writes to its standard error is in the daemon's log, as warnings.")]
    Wrap {
        /// The module.
        #[arg(value_name = "MODULE", value_hint = ValueHint::FilePath)]
        module: PathBuf,
        /// The component's file [default: policy.wasm beside the module].
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        to: Option<PathBuf>,
    },
}
