//! Scripts that serve as delegates, and what is looked at afterwards.

pub(crate) mod outlived;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure_delegate::{CallFailure, DelegateCalls, DelegateProgram, DelegateSettings};
use tenure_types::cni::Success;
use tenure_types::{DelegateCall, DelegateVerb};

/// A directory with one script, which answers VERSION like a plugin and runs `body` for everything else.
pub(crate) struct Script {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

/// A result with one address.
pub(crate) const RESULT: &str =
    r#"{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24","gateway":"10.9.0.1"}]}"#;

impl Script {
    pub(crate) fn new(body: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("delegate");
        let script = Self { directory, path };
        script.write(body);
        script
    }

    /// Writes the script anew, in another file under the same name.
    pub(crate) fn write(&self, body: &str) {
        let versions = r#"{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0","1.1.0"]}"#;
        let text = format!(
            "#!/bin/sh\nif [ \"$CNI_COMMAND\" = VERSION ]; then echo '{versions}'; exit; fi\ncd {}\n{body}\n",
            self.directory.path().display()
        );
        let new = self.directory.path().join("new");
        fs::write(&new, text).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&new, &self.path).unwrap();
    }

    pub(crate) fn settings(&self) -> DelegateSettings {
        DelegateSettings { timeout: Duration::from_secs(20), ..DelegateSettings::new(self.path.clone()) }
    }

    /// Makes it the delegate of a daemon that has just started.
    pub(crate) fn delegate(&self) -> DelegateProgram {
        self.delegate_with(self.settings())
    }

    /// The same with other settings.
    pub(crate) fn delegate_with(&self, settings: DelegateSettings) -> DelegateProgram {
        delegate_at(settings, self.directory.path())
    }

    /// Reads a file that it wrote.
    pub(crate) fn wrote(&self, file: &str) -> String {
        fs::read_to_string(self.directory.path().join(file)).unwrap_or_default()
    }

    pub(crate) fn add(&self) -> Result<Success, CallFailure> {
        add(&self.delegate(), &call("10"))
    }
}

/// A delegate of a daemon that has just started and has this run directory.
pub(crate) fn delegate_at(settings: DelegateSettings, run: &Path) -> DelegateProgram {
    DelegateProgram::new(settings, Arc::new(DelegateCalls::new(run.join("delegates/x"))))
}

/// A call for an attachment.
pub(crate) fn call(container: &str) -> DelegateCall {
    DelegateCall {
        network: tenure_types::NetworkName::new("pods").unwrap(),
        ipam: r#"{"policy":"delegate.x","key":"value"}"#.into(),
        container: tenure_types::ContainerId::new(container).unwrap(),
        interface: tenure_types::InterfaceName::new("eth0").unwrap(),
        netns: "".into(),
        pod: None,
        requested: Vec::new(),
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn add(delegate: &DelegateProgram, call: &DelegateCall) -> Result<Success, CallFailure> {
    runtime().block_on(delegate.add(call))
}

pub(crate) fn tell(
    delegate: &DelegateProgram,
    call: &DelegateCall,
    verb: &DelegateVerb,
) -> Result<(), CallFailure> {
    runtime().block_on(delegate.tell(call, verb))
}

/// Polls until something holds.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_sec;
    while !holds() {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_sec;
        assert!(now - began < 20, "{what}");
        std::thread::yield_now();
    }
}

/// Whether a process runs. One that has ended and that nobody has waited for does not.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])))
}
