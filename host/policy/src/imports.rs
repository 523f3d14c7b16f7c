//! What a component wants to import, read from its bytes: one that no host of ours serves is refused before it is compiled.

use wasmparser::{Parser, Payload};

use crate::interface::check_import;

/// Refuses a component that imports what is not offered. Whatever else is wrong with its bytes is the compiler's to say.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::ComponentImportSection(imports)) if depth == 0 => {
                for import in imports.into_iter().flatten() {
                    check_import(import.name.name)?;
                }
            }
            Ok(_) => {}
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}
