//! Compiling in a child: this program is its own compiler, as the daemon is.

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
    // What is no component comes back as the compiler's own words, also when it does not fit a pipe.
    for bytes in [&b"nothing"[..], &vec![b'x'; 8 << 20]] {
        let Err(error) = runtime.load(&name, bytes, None) else { return Err("it compiled nonsense".into()) };
        assert_eq!(error.code, ErrorCode::PolicyUnloadable);
        assert!(error.cause.contains("it does not compile"), "{error}");
    }
    println!("test compiling_in_a_child ... ok");
    Ok(ExitCode::SUCCESS)
}
