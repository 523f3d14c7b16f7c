//! Compiling a component, in a short-lived child with limits.
//!
//! A compiler is a large program that reads a stranger's bytes. In a child it can use up or crash nothing but itself,
//! and its memory is gone when it ends. The child is this very program, started with an argument of its own: it reads the
//! component from standard input and writes the compiled form to standard output.

mod child;
mod here;
mod parent;

pub use self::child::maybe_run_compiler_child;
use crate::sandbox::Limits;

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
    pub(super) fn compile(self, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>, String> {
        match self {
            Self::InProcess => here::compile(bytes),
            Self::Child => parent::compile(bytes, limits.compile),
        }
    }
}
