//! `tenure-ec2-double`: EC2 and the instance metadata service on loopback, for trying tenure without AWS.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use ipnet::{Ipv4Net, Ipv6Net};
use tenure_ec2_double::{Addresses, Double, HELP, NewInstance, NewSubnet, Setup};
use tokio::signal::unix::{SignalKind, signal};

/// Play EC2 and the metadata service of its instances, strictly, on loopback. Nothing leaves this machine.
#[derive(Debug, Parser)]
#[command(name = "tenure-ec2-double", version, after_help = HELP)]
struct Arguments {
    /// The address of EC2's endpoint; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8101")]
    ec2: SocketAddr,
    /// The address of the first instance's metadata service; further ones have the next ports
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8102")]
    imds: SocketAddr,
    /// The address of the control port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8100")]
    control: SocketAddr,
    /// An instance of this type in the first subnet; may be given several times [default: t3.small]
    #[arg(long = "instance", value_name = "TYPE")]
    instances: Vec<String>,
    /// A subnet's IPv4 addresses; may be given several times [default: 10.0.0.0/24]
    #[arg(long = "subnet", value_name = "CIDR")]
    subnets: Vec<Ipv4Net>,
    /// IPv6 addresses, a /64 for each subnet in turn; may be given several times
    #[arg(long = "ipv6", value_name = "CIDR")]
    ipv6: Vec<Ipv6Net>,
    /// A JSON file that says all of this and more: account, subnets with tags and reservations, instances, timing, rules
    #[arg(long, value_name = "FILE", conflicts_with_all = ["instances", "subnets", "ipv6"])]
    setup: Option<PathBuf>,
    /// Make this network namespace to play the VPC, and a veth into it for each attached interface; needs root
    #[arg(long, value_name = "NAMESPACE")]
    wire: Option<String>,
    /// Let the clock stand still until the control port moves it
    #[arg(long)]
    virtual_time: bool,
    /// Answer EC2 calls that have no signature
    #[arg(long)]
    unsigned: bool,
    /// The seed of identifiers and addresses
    #[arg(long, env = "TENURE_SEED", default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(&arguments)),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tenure-ec2-double: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { ec2, imds, control, .. } = *arguments;
    for address in [ec2, imds, control] {
        if !address.ip().is_loopback() {
            bail!("{address} is not a loopback address; the double must be reachable only from this machine");
        }
    }
    let setup = setup(arguments)?;
    let double = Double::start(&setup, Addresses { ec2, imds, control }).await.context("cannot start")?;
    let mut out = std::io::stdout();
    writeln!(out, "EC2      http://{}", double.ec2())?;
    writeln!(out, "control  http://{}", double.control())?;
    let doors = double.imds();
    for (instance, kind) in double.nodes().iter().zip(&setup.instances) {
        if let Some(address) = doors.get(instance) {
            writeln!(out, "IMDS     http://{address}  {instance}  {}", kind.kind)?;
        }
    }
    writeln!(out, "ready")?;
    out.flush()?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for a signal")?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot wait for a signal"),
        _ = terminate.recv() => Ok(()),
    }
}

fn setup(arguments: &Arguments) -> Result<Setup> {
    let mut setup = match &arguments.setup {
        Some(path) => {
            let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("{} is not a set-up", path.display()))?
        }
        None => described(arguments)?,
    };
    setup.wire = arguments.wire.clone().or(setup.wire);
    setup.virtual_time |= arguments.virtual_time;
    setup.unsigned |= arguments.unsigned;
    setup.seed = arguments.seed;
    println!("TENURE_SEED={}", setup.seed);
    Ok(setup)
}

/// Builds the setup that the flags describe.
fn described(arguments: &Arguments) -> Result<Setup> {
    let mut subnets: Vec<NewSubnet> = arguments.subnets.iter().copied().map(NewSubnet::new).collect();
    if subnets.is_empty() {
        subnets.push(NewSubnet::new("10.0.0.0/24".parse()?));
    }
    if arguments.ipv6.len() > subnets.len() {
        bail!("there are more --ipv6 than subnets");
    }
    for (subnet, ipv6) in subnets.iter_mut().zip(&arguments.ipv6) {
        subnet.ipv6 = Some(*ipv6);
    }
    let mut instances: Vec<NewInstance> =
        arguments.instances.iter().map(|kind| NewInstance::new(kind)).collect();
    if instances.is_empty() {
        instances.push(NewInstance::new("t3.small"));
    }
    Ok(Setup { subnets, instances, ..Setup::default() })
}
