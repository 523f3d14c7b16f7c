//! Compiles a component in a short-lived child process with limits.
//!
//! A compiler is a large program that reads untrusted bytes. In a child it can exhaust or crash nothing but itself,
//! and its memory is released when it exits. The child is this same program, started with its own argument: it reads
//! the component from standard input and writes the compiled form to standard output.

mod child;
mod here;
mod parent;

pub use self::child::maybe_run_compiler_child;
use crate::sandbox::CallLimits;

/// The process in which components are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// In a child process; the program must first call [`maybe_run_compiler_child`].
    Child,
    /// In this process: for programs that load only trusted policies.
    InProcess,
}

impl Compiler {
    /// Compiles a component.
    pub(super) fn compile(self, bytes: &[u8], limits: &CallLimits) -> Result<Vec<u8>, String> {
        match self {
            Self::InProcess => here::compile(bytes),
            Self::Child => parent::compile(bytes, limits.compile),
        }
    }
}
