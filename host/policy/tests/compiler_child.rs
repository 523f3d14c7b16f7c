//! Compiles in a child process: like the daemon, this program is its own compiler, and sometimes one that misbehaves.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::ExitCode;
use std::time::Duration;

use tenure_policy::{CallLimits, Compiler, PolicyRuntime, embedded, maybe_run_compiler_child};
use tenure_types::{ErrorCode, PolicyName};

/// The limits of processor seconds by which a compiler of this test knows how to misbehave.
const ENDLESS_CODE: u64 = 71;
const ENDLESS_WORDS: u64 = 72;
const NO_CODE: u64 = 73;
const LIMITED: u64 = 74;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let seconds = std::env::args().nth(2).and_then(|seconds| seconds.parse().ok());
    match seconds {
        Some(ENDLESS_CODE) => return Ok(endless(io::stdout())),
        Some(ENDLESS_WORDS) => return Ok(endless(io::stderr())),
        Some(NO_CODE) => return Ok(ExitCode::SUCCESS),
        Some(LIMITED) => {
            // Its input is nothing to compile, so it ends with its limits in force.
            let _ = maybe_run_compiler_child();
            eprint!("{}", told());
            return Ok(ExitCode::FAILURE);
        }
        _ => {}
    }
    if let Some(code) = maybe_run_compiler_child() {
        return Ok(code);
    }
    let refused = |bytes: &[u8], seconds: Option<u64>| {
        let compile = seconds.map_or(CallLimits::default().compile, Duration::from_secs);
        let runtime = PolicyRuntime::new(
            CallLimits { concurrency: 1, compile, ..CallLimits::default() },
            Compiler::Child,
        )?;
        let loaded = runtime.load(&PolicyName::new("p")?, bytes, None);
        let error = loaded.err().ok_or("it compiled nonsense")?;
        assert_eq!(error.code, ErrorCode::PolicyUnloadable);
        Ok::<_, Box<dyn Error>>(error.cause)
    };
    let runtime =
        PolicyRuntime::new(CallLimits { concurrency: 1, ..CallLimits::default() }, Compiler::Child)?;
    runtime.load(&PolicyName::new("p")?, embedded::HOST_LOCAL, None)?;
    // Bytes that are not a component come back as the compiler's error, even if they do not fit in a pipe.
    for bytes in [&b"nothing"[..], &vec![b'x'; 8 << 20]] {
        assert!(refused(bytes, None)?.contains("it is not a WebAssembly file"));
    }
    println!("test compiling_in_a_child ... ok");

    assert!(refused(b"x", Some(ENDLESS_CODE))?.contains("it compiles to more than 256 MiB of code"));
    let words = refused(b"x", Some(ENDLESS_WORDS))?;
    assert!(words.len() < 8 << 10, "{} bytes of words", words.len());
    refused(b"x", Some(NO_CODE))?;
    println!("test what_a_compiler_sends_is_limited ... ok");

    let limits = refused(b"x", Some(LIMITED))?;
    for limit in ["no file", "no socket", "no process", "no thread"] {
        assert!(limits.contains(limit), "{limit} is missing: {limits}");
    }
    println!("test a_compiler_has_no_rights ... ok");
    Ok(ExitCode::SUCCESS)
}

fn endless(mut to: impl Write) -> ExitCode {
    while to.write_all(&[b'x'; 64 << 10]).is_ok() {}
    ExitCode::FAILURE
}

/// Describes what this process may still do. The user it runs as is seen from outside, by the end-to-end tests.
fn told() -> String {
    let told = |what: &str, can: bool| format!("{} {what}", if can { "a" } else { "no" });
    let process = std::process::Command::new("/proc/self/exe").spawn().is_ok();
    let told = [
        told("file", File::open("/proc/self/status").is_ok()),
        told("socket", TcpListener::bind("127.0.0.1:0").is_ok()),
        told("process", process),
        told("thread", std::thread::Builder::new().spawn(|| ()).is_ok()),
    ];
    told.join("; ")
}
