//! Compiling a component, in a short-lived child with limits.
//!
//! A compiler is a large program that reads a stranger's bytes. In a child it can use up or crash nothing but itself,
//! and its memory is gone when it ends. The child is this very program, started with an argument of its own: it reads the
//! component from standard input and writes the compiled form to standard output.

mod child;
mod parent;

use wasmtime::Engine;

pub use self::child::maybe_run_compiler_child;
use crate::Limits;
use crate::runtime::compiled_config;
use crate::text::clean;

/// What tells a child that it is one; the seconds that it has follow.
const ARGUMENT: &str = "--compile-policy-from-standard-input";

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
    pub(crate) fn compile(self, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, String> {
        match self {
            Self::InProcess => compile(bytes),
            Self::Child => parent::compile(bytes, limits.compile),
        }
    }
}

fn compile(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let is_module = bytes.starts_with(b"\0asm\x01\0\0\0");
    if is_module {
        return Err("it is a core module, not a component; make one of it with tenure-sdk-build or `wasm-tools component new`".into());
    }
    crate::imports::check(bytes)?;
    let engine = Engine::new(&compiled_config()).map_err(|error| format!("{error:#}"))?;
    engine.precompile_component(bytes).map_err(|error| clean(&format!("it does not compile: {error:#}")))
}
