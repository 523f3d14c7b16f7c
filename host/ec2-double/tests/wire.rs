//! The wire with real links, in namespaces of the test's own. Needs root and `ip`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "these are tests, but clippy knows only those of the standard runner"
)]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial, run};
use tenure_ec2_double::state::{Creation, Place};
use tenure_ec2_double::{Addresses, Double, NewInstance, NewSubnet, Setup};

/// A test's body.
type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let missing = if !rustix::process::geteuid().is_root() {
        Some("needs root")
    } else if !Path::new("/usr/sbin/ip").exists() {
        Some("needs /usr/sbin/ip from package iproute2")
    } else {
        None
    };
    let tests: [(&str, Test); 2] = [
        ("cables_follow_the_attachments", cables_follow_the_attachments),
        ("a_namespace_of_somebody_else_is_left_alone", a_namespace_of_somebody_else_is_left_alone),
    ];
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let trials = tests.map(|(name, test)| match missing {
        None => Trial::test(name, test),
        Some(reason) if in_ci => {
            Trial::test(name, move || Err(Failed::from(format!("must not be skipped in CI: {reason}"))))
        }
        Some(reason) => {
            println!("SKIP {name}: {reason}");
            Trial::ignorable_test(name, move || Ok(Completion::ignored_with(reason)))
        }
    });
    run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Returns a command's output; an error if it fails.
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn ip(arguments: &[&str]) -> Result<String, String> {
    said("ip", arguments)
}

/// A namespace that ends with its test.
struct Namespace(String);

impl Namespace {
    fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        ip(&["netns", "add", &name]).unwrap();
        Self(name)
    }

    /// Whether an address answers: by refusing a connection to a port on which nobody listens.
    fn reaches(&self, address: &str) -> bool {
        let connect = format!("exec 3<>/dev/tcp/{address}/9");
        let result = ip(&["netns", "exec", &self.0, "timeout", "10", "bash", "-c", &connect]);
        result.is_err_and(|error| error.contains("Connection refused"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.0]);
    }
}

fn setup(node: &str, vpc: &str) -> Setup {
    let instance = NewInstance { namespace: Some(node.to_owned()), ..NewInstance::new("t3.small") };
    Setup {
        subnets: vec![NewSubnet::new("10.77.0.0/24".parse().unwrap())],
        instances: vec![instance],
        virtual_time: true,
        wire: Some(vpc.to_owned()),
        ..Setup::default()
    }
}

fn cables_follow_the_attachments() -> Result<(), Failed> {
    let node = Namespace::new("ec2-node");
    let vpc = format!("ec2-vpc-{}", std::process::id());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let double = Double::start(&setup(&node.0, &vpc), Addresses::default()).await.unwrap();
        double.wait_for(0, |entry| entry.call == "plug" && entry.refused.is_none()).await;
        let instance = double.nodes()[0].clone();
        let primary = double.with(|world, _| {
            let id = &world.state.instances()[&instance].primary;
            world.state.interfaces().get(id).unwrap().mac.clone()
        });
        assert!(ip(&["-n", &node.0, "link", "show", "ens5"]).unwrap().contains(&primary));
        assert!(node.reaches("10.77.0.1"), "the gateway answers the primary interface");
        let (id, attachment) = double.with(|world, now| {
            let subnet = world.state.subnets().keys().next().unwrap().clone();
            let id = world.state.create(&Creation { subnet, ..Creation::default() }, None, now).unwrap();
            let place = Place { instance: instance.clone(), device: 1, card: Some(0) };
            (id.clone(), world.state.attach(&id, &place, now).unwrap())
        });
        assert!(
            ip(&["-n", &node.0, "link", "show", "ens6"]).is_err(),
            "not before the attachment is complete"
        );
        double.advance(Duration::from_secs(2));
        let is_it = |what: &'static str, id: &str| {
            let id = id.to_owned();
            move |entry: &tenure_ec2_double::Entry| entry.call == what && entry.parameters["interface"] == id
        };
        let plugged = double.wait_for(0, is_it("plug", &id)).await;
        assert_eq!(plugged.refused, None);
        let (mac, address) = double.with(|world, _| {
            let interface = world.state.interfaces().get(&id).unwrap();
            (interface.mac.clone(), interface.primary().unwrap())
        });
        let link = ip(&["-n", &node.0, "link", "show", "ens6"]).unwrap();
        assert!(link.contains(&mac) && link.contains("state DOWN"), "bare, as a new card: {link}");
        ip(&["-n", &node.0, "link", "del", "ens5"]).unwrap();
        assert!(!node.reaches("10.77.0.1"));
        ip(&["-n", &node.0, "addr", "add", &format!("{address}/24"), "dev", "ens6"]).unwrap();
        ip(&["-n", &node.0, "link", "set", "ens6", "up"]).unwrap();
        assert!(node.reaches("10.77.0.1"), "the gateway answers the new interface");
        double.with(|world, now| world.state.detach(&attachment, now)).unwrap();
        double.wait_for(0, is_it("unplug", &id)).await;
        assert!(ip(&["-n", &node.0, "link", "show", "ens6"]).is_err());
    });
    drop(runtime);
    assert!(!ip(&["netns", "list"])?.contains(&vpc), "the VPC's namespace ends with the double");
    Ok(())
}

fn a_namespace_of_somebody_else_is_left_alone() -> Result<(), Failed> {
    let (node, other) = (Namespace::new("ec2-alone"), Namespace::new("ec2-other"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let refused = runtime.block_on(Double::start(&setup(&node.0, &other.0), Addresses::default()));
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains(&format!("ip netns del {}", other.0)), "{error}");
    assert!(ip(&["netns", "list"])?.contains(&other.0));
    let mut setup = setup(&node.0, "unused");
    setup.instances.push(setup.instances[0].clone());
    let refused = runtime.block_on(Double::start(&setup, Addresses::default()));
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("a network namespace of its own"), "{error}");
    Ok(())
}
