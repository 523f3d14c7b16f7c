//! Components made of a fuzzer's bytes, from nonsense to policies whose calls are reached.

use std::sync::OnceLock;

use arbitrary::Unstructured;
use tenure_policy::embedded;
use tenure_sdk_build::wrap;
use wasm_smith::{Component, Config, Module};
use wit_component::dummy_module;
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

/// The interface of policies.
const WIT: &str = include_str!("../../../wit/ipam/next/ipam.wit");

/// The world that generated policies export.
const WORLD: &str = "policy";

/// Makes a component of the bytes; `None` if they are too few.
pub(crate) fn component(kind: u8, bytes: &[u8]) -> Option<Vec<u8>> {
    match kind {
        0 => Some(bytes.to_vec()),
        1 => module(Config::default(), bytes),
        2 => Component::new(plain(), &mut Unstructured::new(bytes)).ok().map(|made| made.to_bytes()),
        3 => shaped(bytes),
        4 => answering(bytes),
        _ => Some(damaged(bytes)),
    }
}

/// How many kinds there are.
pub(crate) const KINDS: u8 = 6;

/// The features that the sandbox offers to modules; without the rest, more of them load.
fn plain() -> Config {
    Config {
        gc_enabled: false,
        exceptions_enabled: false,
        threads_enabled: false,
        memory64_enabled: false,
        wide_arithmetic_enabled: false,
        max_memory32_bytes: 4 << 20,
        max_table_elements: 1000,
        ..Config::default()
    }
}

fn module(config: Config, bytes: &[u8]) -> Option<Vec<u8>> {
    Module::new(config, &mut Unstructured::new(bytes)).ok().map(|made| made.to_bytes())
}

/// A policy with the right imports and exports and any code: its memory, its allocator and its answers are random.
fn shaped(bytes: &[u8]) -> Option<Vec<u8>> {
    static SHAPE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let shape = SHAPE.get_or_init(|| {
        let mut resolve = Resolve::default();
        let package = resolve.push_source("ipam.wit", WIT).ok()?;
        let world = resolve.select_world(&[package], Some(WORLD)).ok()?;
        Some(dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync)))
    });
    let config = Config { module_shape: shape.clone(), ..plain() };
    wrap("generated", &module(config, bytes)?, WIT, WORLD).ok()
}

/// A policy whose allocator works and whose answers are the bytes: the host reads them as a definition and as a
/// proposal. Where the answers begin is for the first bytes to say.
fn answering(bytes: &[u8]) -> Option<Vec<u8>> {
    const BASE: usize = 1 << 16;
    let [define, propose, image @ ..] = bytes else { return None };
    let at = |first: &u8| BASE + usize::from(*first) * 4;
    let data: String = image.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
            (memory (export "memory") 4)
            (global $next (mut i32) (i32.const 131072))
            (data (i32.const {BASE}) "{data}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
                (local.set $at (i32.and
                    (i32.add (global.get $next) (i32.sub (local.get 2) (i32.const 1)))
                    (i32.sub (i32.const 0) (local.get 2))))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func (export "tenure:ipam/network@0.1.0-rc.1#define") (param i32 i32 i32 i32 i32 i32) (result i32)
                (i32.const {}))
            (func (export "tenure:ipam/allocation@0.1.0-rc.1#propose") (param i32 i32 i32 i32 i32 i32) (result i32)
                (i32.const {})))"#,
        at(define),
        at(propose),
    );
    wrap("answering", &wat::parse_str(text).ok()?, WIT, WORLD).ok()
}

/// A first-party policy with changed bytes: three bytes name a place and a mask each.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let mut component = embedded::HOST_LOCAL.to_vec();
    for change in bytes.chunks_exact(4) {
        let [high, middle, low, mask] = change else { continue };
        let place = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
        let length = component.len();
        if let Some(byte) = component.get_mut(place % length) {
            *byte ^= mask;
        }
    }
    component
}
