//! A suite of tests with its own runner, which prints what libtest prints and can skip a test with a reason.
//!
//! A test that needs root or a missing package is skipped by name, with the reason. With `CI=true` that is a failure, so that a
//! test cannot disappear there unnoticed; only a missing language, grpcio or moto is not, since a machine may be unable to have it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{evidence, grpcio, moto, scratch, systemd};

/// The longest that a test may take: several times what the slowest one takes on two busy processors.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A requirement of a test.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// Root, for namespaces, mounts and runtimes.
    Root,
    /// A file, and the Debian package that contains it.
    File(&'static str, &'static str),
    /// A program anywhere in the path, of a language in which policies or agents can be written, or of those who read what is published. Nobody
    /// installs it for the tests, so a test may be skipped without it in CI, too.
    Language(&'static str),
    /// A hierarchy of control groups of version 2, and the right to mount it and to make groups, for a systemd of a test's own. No package has it, so a
    /// test may be skipped without it in CI, too.
    ControlGroups,
    /// gRPC's own library for Python. It is installed for the tests where Python is there and can reach its packages.
    Grpcio,
    /// moto, which plays AWS. It is installed for the tests where Python is there and can reach its packages.
    Moto,
}

impl Need {
    /// The reference plugins.
    pub const PLUGINS: Self = Self::File("/usr/lib/cni/bridge", "containernetworking-plugins");
    /// `ip`.
    pub const IPROUTE: Self = Self::File("/usr/sbin/ip", "iproute2");
    /// containerd itself.
    pub const CONTAINERD: Self = Self::File("/usr/bin/containerd", "containerd");
    /// The runtime that containerd and podman start containers with.
    pub const RUNC: Self = Self::File("/usr/sbin/runc", "runc");
    /// podman itself.
    pub const PODMAN: Self = Self::File("/usr/bin/podman", "podman");
    /// The compiler of C.
    pub const CLANG: Self = Self::File("/usr/bin/clang", "clang");
    /// The linker that clang calls for WebAssembly.
    pub const WASM_LD: Self = Self::File("/usr/bin/wasm-ld", "lld");
    /// The compiler of Go.
    pub const GO: Self = Self::Language("go");
    /// JavaScript outside of a browser.
    pub const NODE: Self = Self::Language("node");
    /// The packages of JavaScript.
    pub const NPM: Self = Self::Language("npm");
    /// Java, with its package manager.
    pub const MAVEN: Self = Self::Language("mvn");
    /// Python, with its package manager.
    pub const PYTHON: Self = Self::Language("pip3");
    /// systemd itself.
    pub const SYSTEMD: Self = Self::File("/lib/systemd/systemd", "systemd");
    /// `unshare` and `nsenter`.
    pub const UTIL_LINUX: Self = Self::File("/usr/bin/nsenter", "util-linux");

    /// The requirements of an [`Enclave`](crate::Enclave) with plugins in it.
    pub const NAMESPACES: &[Self] = &[Self::Root, Self::PLUGINS, Self::IPROUTE, Self::UTIL_LINUX];

    /// Why the requirement is not met.
    fn missing(self) -> Option<String> {
        match self {
            Self::Root if rustix::process::geteuid().is_root() => None,
            Self::Root => Some("needs root".to_owned()),
            Self::File(path, _) if Path::new(path).exists() => None,
            Self::File(path, package) => Some(format!("needs {path} from package {package}")),
            Self::Language(program) if is_in_path(program) => None,
            Self::Language(program) => Some(format!("{OPTIONAL}{program} is not installed")),
            Self::ControlGroups => systemd::cannot_boot().map(|reason| format!("{OPTIONAL}{reason}")),
            Self::Grpcio if grpcio::python().is_some() => None,
            Self::Grpcio => Some(format!("{OPTIONAL}grpcio {} is not installed", grpcio::version())),
            Self::Moto if moto::server().is_some() => None,
            Self::Moto => Some(format!("{OPTIONAL}moto {} is not installed", moto::version())),
        }
    }
}

/// How the reason begins why a test was skipped that need not run everywhere; `cargo xtask test` knows it.
const OPTIONAL: &str = "optional: ";

/// Whether a program is in the path.
fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Tests that run together.
#[derive(Debug)]
pub struct Suite {
    trials: Vec<Trial>,
    /// The tests that will be skipped, with the reason.
    skips: Vec<(String, String)>,
}

impl Suite {
    /// An empty suite.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a suite is always filled right away")]
    pub fn new() -> Self {
        Self { trials: Vec::new(), skips: Vec::new() }
    }

    /// Adds a test.
    #[must_use]
    pub fn test(
        mut self,
        name: impl Into<String>,
        needs: &[Need],
        run: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
    ) -> Self {
        let name = name.into();
        let missing: Vec<String> = needs.iter().filter_map(|need| need.missing()).collect();
        let reason = missing.join(", ");
        let trial = if reason.is_empty() {
            let named = name.clone();
            Trial::test(name, move || within(&named, || attempt(run)))
        } else if !reason.starts_with(OPTIONAL) && std::env::var_os("CI").is_some_and(|value| value == "true")
        {
            Trial::test(name, move || Err(Failed::from(format!("must not be skipped in CI: {reason}"))))
        } else {
            self.skips.push((name.clone(), reason.clone()));
            Trial::ignorable_test(name, move || Ok(Completion::ignored_with(reason)))
        };
        self.trials.push(trial);
        self
    }

    /// Runs the tests that the command line selects, and checks that they leave nothing behind.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let selected = |name: &str| {
            self.trials.iter().any(|trial| trial.name() == name && !arguments.is_filtered_out(trial))
        };
        for (name, reason) in self.skips.iter().filter(|(name, _)| !arguments.list && selected(name)) {
            println!("SKIP {name}: {reason}");
        }
        // A process that was killed may have had this one's id.
        let earlier = scratch::left_behind();
        let conclusion = libtest_mimic::run(&arguments, self.trials);
        let mut left = scratch::left_behind();
        left.retain(|one| !earlier.contains(one));
        if !left.is_empty() {
            eprintln!("the tests left behind: {}", left.join(", "));
            return ExitCode::FAILURE;
        }
        conclusion.exit_code()
    }
}

/// Runs a test, and ends the whole suite with the test's name if it takes too long: nothing can take back the thread of a test that hangs.
fn within<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let (ended, watched) = channel::<()>();
    let named = name.to_owned();
    thread::spawn(move || {
        if watched.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            eprintln!(
                "\ntest {named} has not ended after {} minutes; processes that it started may still run",
                LONGEST.as_secs() / 60
            );
            std::process::exit(1);
        }
    });
    let result = run();
    drop(ended);
    result
}

/// Runs a test and adds its evidence to its failure.
fn attempt(run: impl FnOnce() -> anyhow::Result<()>) -> Result<(), Failed> {
    drop(evidence::take());
    let result = run();
    let evidence = evidence::take();
    result.map_err(|error| Failed::from(format!("{error:#}\n{}", evidence.join("\n"))))
}
