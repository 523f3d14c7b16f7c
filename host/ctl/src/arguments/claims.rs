//! `tenurectl claims`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    after_help = "Agents make, declare and release claims themselves, with the calls Ensure, Declare and Release of the service
tenure.v1.Claims. The metric tenure_requests_total counts these under the verbs ensure, declare and unclaim; `tenurectl log` shows
the facts claimed, confirmed and unclaimed."
)]
pub(crate) struct ClaimsArguments {
    /// List only this agent's claims.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: Option<ClaimsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClaimsVerb {
    /// Release a claim whose agent is gone for good.
    #[command(after_help = "Examples:
  tenurectl claims release cilium pods ingress
  tenurectl claims release cilium pods ingress --generation 7 --apply --reason 'the agent was uninstalled'

An agent that is still there uses an address that another owner may get; it is told if it watches its claims, and claims again at its
next request.")]
    Release {
        /// The agent.
        agent: String,
        /// The network.
        network: String,
        /// The agent's name for the claim.
        name: String,
        /// The reason, recorded in the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Release it only if it still has this generation, as the dry run shows it.
        #[arg(long, value_name = "NUMBER")]
        generation: Option<u64>,
        /// Make the changes; without this flag, only show them.
        #[arg(long)]
        apply: bool,
    },
}
