//! The actions: each reads its parameters, and returns the work to do on the account.

mod addresses;
mod addresses_six;
mod attach;
mod create;
mod delete;
mod describe_instance_types;
mod describe_instances;
mod describe_interfaces;
mod describe_subnets;
mod detach;
mod modify;
mod reservations;
mod tags;

use super::Context;
use super::parameters::Parameters;
use crate::state::Refusal;

/// The work of an action after its parameters have been read; it returns the document that answers the call.
pub(super) type Work = Box<dyn FnOnce(&mut Context<'_>) -> Result<String, Refusal>>;

/// An action.
pub(super) struct Action {
    name: &'static str,
    /// Whether it has the parameter `DryRun`.
    pub(super) has_dry_run: bool,
    /// Reads its parameters.
    pub(super) parse: fn(&mut Parameters) -> Result<Work, Refusal>,
}

impl Action {
    /// The action of a name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|action| action.name == name)
    }
}

const fn action(name: &'static str, parse: fn(&mut Parameters) -> Result<Work, Refusal>) -> Action {
    Action { name, has_dry_run: true, parse }
}

/// The four that assign and unassign have no dry run.
const fn without_dry_run(name: &'static str, parse: fn(&mut Parameters) -> Result<Work, Refusal>) -> Action {
    Action { name, has_dry_run: false, parse }
}

const ALL: &[Action] = &[
    without_dry_run("AssignIpv6Addresses", addresses_six::assign),
    without_dry_run("AssignPrivateIpAddresses", addresses::assign),
    action("AttachNetworkInterface", attach::parse),
    action("CreateNetworkInterface", create::parse),
    action("CreateTags", tags::parse),
    action("DeleteNetworkInterface", delete::parse),
    action("DescribeInstanceTypes", describe_instance_types::parse),
    action("DescribeInstances", describe_instances::parse),
    action("DescribeNetworkInterfaces", describe_interfaces::parse),
    action("DescribeSubnets", describe_subnets::parse),
    action("DetachNetworkInterface", detach::parse),
    action("GetSubnetCidrReservations", reservations::parse),
    action("ModifyNetworkInterfaceAttribute", modify::parse),
    without_dry_run("UnassignIpv6Addresses", addresses_six::unassign),
    without_dry_run("UnassignPrivateIpAddresses", addresses::unassign),
];
