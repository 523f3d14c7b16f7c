//! Compiles in a child process: like the daemon, this program is its own compiler.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use tenure_policy::{Compiler, Limits, Runtime, embedded, maybe_run_compiler_child};
use tenure_types::{ErrorCode, PolicyName};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = maybe_run_compiler_child() {
        return Ok(code);
    }
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let runtime = Arc::new(Runtime::new(limits, Compiler::Child)?);
    let name = PolicyName::new("p")?;
    runtime.load(&name, embedded::HOST_LOCAL, None)?;
    // Bytes that are no component come back as the compiler's error, even if they do not fit in a pipe.
    for bytes in [&b"nothing"[..], &vec![b'x'; 8 << 20]] {
        let Err(error) = runtime.load(&name, bytes, None) else { return Err("it compiled nonsense".into()) };
        assert_eq!(error.code, ErrorCode::PolicyUnloadable);
        assert!(error.cause.contains("it does not compile"), "{error}");
    }
    println!("test compiling_in_a_child ... ok");
    Ok(ExitCode::SUCCESS)
}
