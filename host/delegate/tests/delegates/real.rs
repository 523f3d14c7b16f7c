//! Delegates that exist: Debian's host-local and static.

use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;
use tenure_delegate::{CallFailure, DelegateProgram, DelegateSettings};
use tenure_types::{DelegateCall, DelegateVerb};

use crate::support::{add, call, delegate_at, tell};
use crate::trial;

/// The directory of Debian's `containernetworking-plugins`.
const DIRECTORY: &str = "/usr/lib/cni";

pub(crate) fn trials() -> Vec<Trial> {
    let is_here = |name: &str| PathBuf::from(DIRECTORY).join(name).exists();
    vec![
        trial("host_local_gives_checks_and_takes_back", host_local).with_ignored_flag(!is_here("host-local")),
        trial("static_gives_what_its_configuration_says", fixed).with_ignored_flag(!is_here("static")),
    ]
}

fn plugin(name: &str, run: &TempDir) -> DelegateProgram {
    delegate_at(DelegateSettings::new(PathBuf::from(DIRECTORY).join(name)), run.path())
}

fn host_local() -> Result<(), Failed> {
    let data = TempDir::new()?;
    let ipam = format!(
        r#"{{"dataDir":"{}","ranges":[[{{"subnet":"10.9.0.0/24"}}],[{{"subnet":"fd00::/64"}}]],"routes":[{{"dst":"0.0.0.0/0"}}]}}"#,
        data.path().display()
    );
    let asked = |container: &str| DelegateCall { ipam: ipam.as_str().into(), ..call(container) };
    let delegate = plugin("host-local", &data);
    let given = add(&delegate, &asked("one"))?;
    let addresses: Vec<String> = given.addresses.iter().map(|given| given.address.to_string()).collect();
    assert_eq!(addresses, ["10.9.0.2/24", "fd00::2/64"]);
    assert_eq!(given.addresses[0].gateway(), "10.9.0.1".parse().ok());
    assert_eq!(given.routes.len(), 1);
    // It is not idempotent, and says so.
    let failure = add(&delegate, &asked("one")).unwrap_err();
    assert!(
        matches!(&failure, CallFailure::Refused { message, .. } if message.contains("duplicate")),
        "{failure}"
    );
    tell(&delegate, &asked("one"), &DelegateVerb::Check { given })?;
    let wanted = DelegateCall { requested: vec!["10.9.0.9".parse()?], ..asked("two") };
    assert_eq!(add(&delegate, &wanted)?.addresses[0].ip().to_string(), "10.9.0.9");
    for _ in 0..2 {
        tell(&delegate, &asked("one"), &DelegateVerb::Del)?;
    }
    assert!(!data.path().join("pods/10.9.0.2").exists() && data.path().join("pods/10.9.0.9").exists());
    Ok(())
}

fn fixed() -> Result<(), Failed> {
    let ipam = r#"{"addresses":[{"address":"10.8.0.5/24","gateway":"10.8.0.1"}],"dns":{"nameservers":["192.0.2.1"]}}"#;
    let asked = |container: &str| DelegateCall { ipam: ipam.into(), ..call(container) };
    let run = TempDir::new()?;
    let delegate = plugin("static", &run);
    // The same for everybody: it is up to the ledger to notice.
    for container in ["one", "two"] {
        let given = add(&delegate, &asked(container))?;
        assert_eq!(given.addresses[0].address.to_string(), "10.8.0.5/24");
        assert_eq!(given.dns.nameservers, ["192.0.2.1"]);
    }
    tell(&delegate, &asked("one"), &DelegateVerb::Del)?;
    Ok(())
}
