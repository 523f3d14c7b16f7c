//! The host's side of `wit/`, generated.

wasmtime::component::bindgen!({ path: "../../wit/ipam/next", world: "policy" });
