//! Declarations of a component, read without compiling it.

use wasmparser::{Parser, Payload};

/// The package of the interface, with the separator behind it.
const PACKAGE: &str = "tenure:ipam/";

/// The package of planning, likewise.
const SUPPLY: &str = "tenure:supply/";

/// The first bytes of each WebAssembly file.
const MAGIC: &[u8] = b"\0asm";

/// The bytes of a page of memory.
const PAGE: u64 = 64 << 10;

/// The declarations of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The names of its imports, in its order.
    pub imports: Vec<String>,
    /// The names of its exports, in its order.
    pub exports: Vec<String>,
    /// How many memories its modules have.
    pub memories: u32,
    /// The initial size of these memories, in bytes.
    pub initial_memory: u64,
}

impl Contents {
    /// Reads a component.
    ///
    /// # Errors
    /// What is wrong with its form, if it is not a component.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        is_webassembly(bytes)?;
        if Parser::is_core_wasm(bytes) {
            return Err(
                "it is a core module, not a component; `tenurectl policy build` makes one of it".into()
            );
        }
        let (mut contents, mut depth) = (Self::default(), 0_u32);
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(|error| error.to_string())? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    let names = imports.into_iter().flatten().map(|import| import.name.name.to_owned());
                    contents.imports.extend(names);
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    let names = exports.into_iter().flatten().map(|export| export.name.name.to_owned());
                    contents.exports.extend(names);
                }
                Payload::MemorySection(memories) => {
                    for memory in memories.into_iter().flatten() {
                        contents.memories += 1;
                        let bytes = memory.initial.saturating_mul(PAGE);
                        contents.initial_memory = contents.initial_memory.saturating_add(bytes);
                    }
                }
                _ => {}
            }
        }
        Ok(contents)
    }

    /// The version of the interface that it was built against, if it names one.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let ours = |name: &String| name.starts_with(PACKAGE);
        self.exports
            .iter()
            .chain(&self.imports)
            .find(|name| ours(name))?
            .split_once('@')
            .map(|(_, version)| version)
    }

    /// The worlds that it fits: `policy`, and what it can do besides.
    #[must_use]
    pub fn worlds(&self) -> Vec<&'static str> {
        let exports = |package: &str, interface: &str| {
            self.exports.iter().any(|name| {
                name.strip_prefix(package).is_some_and(|rest| rest.split('@').next() == Some(interface))
            })
        };
        let mut worlds = Vec::new();
        if exports(PACKAGE, "network") && exports(PACKAGE, "allocation") {
            worlds.push("policy");
        }
        if exports(SUPPLY, "planning") {
            worlds.push("planner");
        }
        if exports(PACKAGE, "stateful-allocation") {
            worlds.push("stateful");
        }
        worlds
    }
}

/// Refuses a file of another kind, about which a parser has nothing to say to people.
pub(crate) fn is_webassembly(bytes: &[u8]) -> Result<(), String> {
    match bytes.starts_with(MAGIC) {
        true => Ok(()),
        false => Err("it is not a WebAssembly file".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_party_policy_declares_the_interface_and_nothing_else() {
        let contents = Contents::read(crate::embedded::HOST_LOCAL).unwrap();
        assert_eq!((contents.version(), contents.worlds()), (Some("0.1.0-rc.1"), vec!["policy"]));
        assert!(contents.imports.iter().all(|name| name.starts_with(PACKAGE)), "{contents:?}");
        assert_eq!(contents.memories, 1);
        assert!((PAGE..4 << 20).contains(&contents.initial_memory), "{contents:?}");
    }

    #[test]
    fn what_is_no_component_says_what_it_is() {
        assert!(Contents::read(b"\0asm\x01\0\0\0").unwrap_err().starts_with("it is a core module"));
        for other in [&b""[..], b"hello", b"(component)"] {
            assert_eq!(Contents::read(other).unwrap_err(), "it is not a WebAssembly file");
        }
    }
}
