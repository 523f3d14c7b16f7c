//! `cargo xtask demo --aws`: a node on AWS, with a double of EC2, of its metadata service and of the VPC.
//!
//! The double is strict and has an oracle, which records violations of EC2's guarantees. Every act ends with an error if a pod does
//! not have its way.

mod double;
mod instance;
mod outage;
mod ways;

use std::path::Path;

use anyhow::{Result, ensure};

use self::instance::{Instance, KIND};
use super::enclave::Enclave;
use super::tell::Teller;
use super::wait;

/// How many pods come: more than two interfaces carry.
const PODS: usize = 7;
/// The most interfaces of the instance's type.
const INTERFACES: usize = 3;

/// Runs the demonstration in five acts.
///
/// # Errors
/// When a guarantee is broken.
pub(super) fn show(enclave: &Enclave, binaries: &Path, tell: Teller) -> Result<()> {
    let mut instance = start(enclave, binaries, tell)?;
    grow(&mut instance, tell)?;
    ways::show(&instance, tell)?;
    outage::lies(&mut instance, tell)?;
    let instance = outage::silence(instance, tell)?;
    end(instance, tell)
}

/// Act one: the node has one interface.
fn start<'a>(enclave: &'a Enclave, binaries: &'a Path, tell: Teller) -> Result<Instance<'a>> {
    tell.act(&format!("1. A node on AWS, with the limits of a {KIND}"));
    let instance = Instance::start(enclave, binaries)?;
    tell.line(
        "tenure-ec2-double plays EC2, its metadata service and the VPC; tenured is running, with [aws]",
    );
    tell.shown("tenurectl cloud", &instance.node.table(&["cloud"])?);
    Ok(instance)
}

/// Act two: pods come, and interfaces with them.
fn grow(instance: &mut Instance<'_>, tell: Teller) -> Result<()> {
    tell.act(&format!("2. {PODS} pods, through the main plugin tenure-eni"));
    let mut known = 1;
    for number in 1..=PODS {
        let pod = instance.add(&format!("pod-{number}"))?;
        known = told(instance, known, tell)?;
        let link = instance.interface_of(&pod)?.link();
        tell.good(&format!("{} has {}, on {link}", pod.name, pod.bare()));
    }
    wait::holds("three interfaces", || Ok(instance.double.interfaces()?.len() >= INTERFACES))?;
    told(instance, known, tell)?;
    tell.shown("tenurectl cloud", &instance.node.table(&["cloud"])?);
    Ok(())
}

/// Reports interfaces that were attached; returns how many there are.
fn told(instance: &Instance<'_>, known: usize, tell: Teller) -> Result<usize> {
    let interfaces = instance.double.interfaces()?;
    for interface in interfaces.iter().skip(known) {
        tell.turn(&format!(
            "EC2 attached {} as {}: {} of {INTERFACES} interfaces",
            interface.id,
            interface.link(),
            interface.device.saturating_add(1)
        ));
    }
    Ok(interfaces.len())
}

/// The end: what the policy would do now, no pod left over, and the oracle's verdict.
fn end(mut instance: Instance<'_>, tell: Teller) -> Result<()> {
    tell.shown("tenurectl plan --explain", &instance.node.table(&["plan", "--explain"])?);
    let count = instance.pods.len();
    instance.delete(count)?;
    let left = instance.node.allocations()?;
    ensure!(left.is_empty(), "left over: {left:?}");
    tell.good(&format!("{count} pods were deleted, and no address is left over"));
    instance.double.nothing_is_lost()?;
    tell.good("the oracle: no pod's address was ever taken, or on no interface, and no interface was lost");
    Ok(())
}
