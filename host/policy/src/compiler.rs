//! Compiling a component, in a short-lived child with limits.
//!
//! A compiler is a large program that reads a stranger's bytes. In a child it can use up or crash nothing but itself,
//! and its memory is gone when it ends. The child is this very program, started with [`ARGUMENT`]: it reads the
//! component from standard input and writes the compiled form to standard output.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};
use wasmtime::Engine;

use crate::runtime::compiled_config;
use crate::text::clean;

/// What tells a child that it is one.
const ARGUMENT: &str = "--compile-policy-from-standard-input";

/// The child's address space.
const MEMORY: u64 = 2 << 30;

/// The child's processor time in seconds.
const SECONDS: u64 = 120;

/// Where components are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// In a child; the program must call [`maybe_run_compiler_child`] first of all.
    Child,
    /// In this process: for programs that load nothing but what they trust.
    InProcess,
}

impl Compiler {
    /// Compiles a component.
    pub(crate) fn compile(self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::InProcess => compile(bytes),
            Self::Child => compile_in_child(bytes),
        }
    }
}

/// Compiles and says so, if this process was started for it. The first thing that a daemon's `main` does.
#[must_use]
pub fn maybe_run_compiler_child() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != ARGUMENT {
        return None;
    }
    Some(match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprint!("{cause}");
            ExitCode::FAILURE
        }
    })
}

/// The child's part.
fn serve() -> Result<(), String> {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Core, 0)] {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| format!("cannot limit the compiler: {error}"))?;
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let compiled = compile(&bytes)?;
    std::io::stdout().lock().write_all(&compiled).map_err(|error| error.to_string())
}

fn compile(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let is_module = bytes.starts_with(b"\0asm\x01\0\0\0");
    if is_module {
        return Err("it is a core module, not a component; make one of it with tenure-sdk-build or `wasm-tools component new`".into());
    }
    let engine = Engine::new(&compiled_config()).map_err(|error| format!("{error:#}"))?;
    engine.precompile_component(bytes).map_err(|error| clean(&format!("it does not compile: {error:#}")))
}

/// The parent's part.
fn compile_in_child(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("cannot start the compiler: {error}");
    let mut child = Command::new("/proc/self/exe")
        .arg0("tenure-compiler")
        .arg(ARGUMENT)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    if let Some(mut input) = child.stdin.take() {
        // A child that died early has closed its end; its status says more than this error.
        let _ = input.write_all(bytes);
    }
    let output = child.wait_with_output().map_err(cannot)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    match clean(String::from_utf8_lossy(&output.stderr).trim()).as_str() {
        "" => Err(format!("the compiler gave up on it ({})", output.status)),
        cause => Err(cause.to_owned()),
    }
}
