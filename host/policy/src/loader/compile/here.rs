//! The compilation itself, in whichever process calls it.

use wasmtime::Engine;

use crate::loader::verify;
use crate::sandbox::compiled_config;
use crate::text::clean;

/// Checks a component's imports, then compiles it.
pub(super) fn compile(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let is_module = bytes.starts_with(b"\0asm\x01\0\0\0");
    if is_module {
        return Err("it is a core module, not a component; turn it into one with tenure-sdk-build or `wasm-tools component new`".into());
    }
    verify::imports(bytes)?;
    let engine = Engine::new(&compiled_config()).map_err(|error| format!("{error:#}"))?;
    engine.precompile_component(bytes).map_err(|error| clean(&format!("it does not compile: {error:#}")))
}
