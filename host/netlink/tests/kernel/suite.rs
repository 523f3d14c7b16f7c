//! The runner: skips by name what cannot run, and starts the rest in namespaces of its own.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The needs of every test: a program, and its Debian package.
const NEEDS: [(&str, &str); 3] =
    [("/usr/sbin/ip", "iproute2"), ("/usr/sbin/nft", "nftables"), ("/usr/bin/unshare", "util-linux")];

/// The longest that a test may take: many times what the slowest one takes on two busy processors.
const LONGEST: Duration = Duration::from_secs(4 * 60);

/// Set for the program that runs in the namespaces.
const INSIDE: &str = "TENURE_NETLINK_INSIDE";

/// The tests.
pub(crate) struct Suite {
    trials: Vec<Trial>,
    skips: Vec<(&'static str, String)>,
}

impl Suite {
    pub(crate) fn new() -> Self {
        Self { trials: Vec::new(), skips: Vec::new() }
    }

    /// Adds a test that needs nothing special.
    pub(crate) fn test(&mut self, name: &'static str, run: fn()) {
        self.needing(name, &[], run);
    }

    /// Adds a test that needs more programs, each with its Debian package.
    pub(crate) fn needing(&mut self, name: &'static str, more: &[(&str, &str)], run: fn()) {
        let absent = NEEDS.iter().chain(more).filter(|(path, _)| !Path::new(path).exists());
        let mut missing: Vec<String> =
            absent.map(|(path, package)| format!("needs {path} from package {package}")).collect();
        if !rustix::process::geteuid().is_root() {
            missing.push("needs root".to_owned());
        }
        let reason = missing.join(", ");
        let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        self.trials.push(if reason.is_empty() {
            Trial::test(name, move || {
                within(name, run);
                Ok(())
            })
        } else if in_ci {
            Trial::test(name, move || Err(Failed::from(format!("must not be skipped in CI: {reason}"))))
        } else {
            self.skips.push((name, reason.clone()));
            Trial::ignorable_test(name, move || Ok(Completion::ignored_with(reason)))
        });
    }

    /// Runs the tests that the command line selects.
    pub(crate) fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let able =
            rustix::process::geteuid().is_root() && NEEDS.iter().all(|(path, _)| Path::new(path).exists());
        if able && !arguments.list && std::env::var_os(INSIDE).is_none() {
            return enter();
        }
        for (name, reason) in self.skips.iter().filter(|_| !arguments.list) {
            println!("SKIP {name}: {reason}");
        }
        libtest_mimic::run(&arguments, self.trials).exit_code()
    }
}

/// Runs a test, and ends the whole suite with the test's name if it takes too long: nothing can take back the thread of a test
/// that hangs. All processes that it started end with the suite's namespaces.
fn within(name: &str, run: fn()) {
    let (ended, watched) = channel::<()>();
    let named = name.to_owned();
    std::thread::spawn(move || {
        if watched.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            eprintln!("\ntest {named} has not ended after {} minutes", LONGEST.as_secs() / 60);
            std::process::exit(1);
        }
    });
    run();
    drop(ended);
}

/// Becomes the first process of new namespaces, in which this program is started again.
fn enter() -> ExitCode {
    let script = "mount -t tmpfs tmpfs /run && mkdir /run/netns && exec \"$0\" \"$@\"";
    let error = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "1")
        .exec();
    eprintln!("cannot run unshare: {error}");
    ExitCode::FAILURE
}
