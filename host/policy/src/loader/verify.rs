//! Checks that a component imports and exports what a policy must: its imports before it is compiled, its exports
//! afterwards.
//!
//! wasmtime would find most mismatches by itself, but some only at the first call, and its messages name no
//! interface. These messages are for the author of the component: what it has, what this host has, and what to do.

use wasmparser::{Parser, Payload};
use wasmtime::Engine;
use wasmtime::component::types::{Component as ComponentType, ComponentInstance, ComponentItem};
use wasmtime::component::{Component, ComponentNamedList};

use crate::contents::is_webassembly;
use crate::sandbox::bindings::planner::exports::tenure::supply::planning::{Effect, Situation};
use crate::sandbox::bindings::tenure::ipam::types::{
    Attribute, Config, ConfigError, Definition, Outcome, Proposal, Refusal, Request,
};
use crate::text::clean;

/// The package of the interface, defined in `wit/`.
const PACKAGE: &str = "tenure:ipam";

/// The package of planning.
const SUPPLY: &str = "tenure:supply";

/// The version of the interface that this host implements.
const VERSION: &str = "0.1.0-rc.1";

/// The interfaces that a policy may import.
const IMPORTS: [&str; 4] = ["types", "ledger", "configuration", "log"];

/// The interfaces that a policy may export in addition to `network`: at least one of those that propose.
const ALLOCATION: &str = "allocation";
const PLANNING: &str = "planning";
const STATEFUL: &str = "stateful-allocation";

/// Refuses a file of another kind, and a component that imports something not offered. A malformed component is left to the compiler.
pub(super) fn imports(bytes: &[u8]) -> Result<(), String> {
    is_webassembly(bytes)?;
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::ComponentImportSection(imports)) if depth == 0 => {
                for found in imports.into_iter().flatten() {
                    import(found.name.name)?;
                }
            }
            Ok(_) => {}
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Refuses a component whose type is not that of a policy.
pub(super) fn interface(engine: &Engine, component: &Component) -> Result<(), String> {
    let ty = component.component_type();
    for (name, _) in ty.imports(engine) {
        import(name)?;
    }
    if exports(engine, &ty, PACKAGE, PLANNING) {
        return Err(format!(
            "it exports {PACKAGE}/{PLANNING}, which is {SUPPLY}/{PLANNING} in this version; {}",
            offered()
        ));
    }
    let demanded = |interface, name| function(engine, &ty, PACKAGE, interface, name);
    let define = demanded("network", "define")?;
    typed::<(Config,), (Result<Definition, ConfigError>,)>(&ty, &define, PACKAGE, "network", "define")?;
    let keeps_state = exports(engine, &ty, PACKAGE, STATEFUL);
    if !keeps_state || exports(engine, &ty, PACKAGE, ALLOCATION) {
        let propose = demanded(ALLOCATION, "propose")?;
        typed::<(Request,), (Result<Proposal, Refusal>,)>(&ty, &propose, PACKAGE, ALLOCATION, "propose")?;
    }
    if exports(engine, &ty, SUPPLY, PLANNING) {
        let plan = function(engine, &ty, SUPPLY, PLANNING, "plan")?;
        typed::<(Situation,), (Result<Vec<Effect>, Refusal>,)>(&ty, &plan, SUPPLY, PLANNING, "plan")?;
    }
    if keeps_state {
        let propose = demanded(STATEFUL, "propose")?;
        typed::<(Request, Vec<u8>), (Result<Outcome, Refusal>,)>(
            &ty, &propose, PACKAGE, STATEFUL, "propose",
        )?;
        let migrate = demanded(STATEFUL, "migrate")?;
        let types = typed::<(Vec<u8>, Vec<Attribute>), (Result<Vec<u8>, Refusal>,)>;
        types(&ty, &migrate, PACKAGE, STATEFUL, "migrate")?;
    }
    Ok(())
}

/// Whether a component exports an optional interface, in any version.
fn exports(engine: &Engine, ty: &ComponentType, package: &str, interface: &str) -> bool {
    ty.exports(engine).any(|(name, _)| of(package, name).is_some_and(|(found, _)| found == interface))
}

/// The version that the host has, and how to make a component fit it.
pub(super) fn offered() -> String {
    format!(
        "this host has {PACKAGE}@{VERSION}: build the policy against the `wit/` of this version of tenured, or use a \
         tenured that supports the policy's version"
    )
}

/// Refuses an import that a policy may not have.
fn import(name: &str) -> Result<(), String> {
    let shown = clean(name);
    match of(PACKAGE, name) {
        None if name.starts_with("wasi:") => Err(format!(
            "it imports {shown}, which is not offered; policies have no WASI: build for wasm32-unknown-unknown, or stub it \
             (componentize-py --stub-wasi, jco componentize --disable all, tinygo -target wasm-unknown)"
        )),
        None => Err(format!(
            "it imports {shown}, which is not offered; a policy may import only {PACKAGE}, see `wit/`"
        )),
        Some((interface, version)) if IMPORTS.contains(&interface) && compatible(version) => Ok(()),
        Some(_) => Err(format!("it imports {shown}; {}", offered())),
    }
}

/// Finds an exported function of an interface.
fn function(
    engine: &Engine,
    ty: &ComponentType,
    package: &str,
    interface: &str,
    function: &str,
) -> Result<ComponentItem, String> {
    let lacks = |why: String| {
        let wanted = format!("{package}/{interface}@{VERSION}");
        format!(
            "it is not a policy of this interface: it must export {function} of {wanted}, {why}; {}",
            offered()
        )
    };
    let mut other = None;
    for (name, export) in ty.exports(engine) {
        match of(package, name).filter(|(found, _)| *found == interface) {
            Some((_, version)) if compatible(version) => {
                let ComponentItem::ComponentInstance(instance) = export.ty else { continue };
                return member(engine, &instance, function)
                    .ok_or_else(|| lacks("but that interface lacks it".into()));
            }
            Some(_) => other = Some(clean(name)),
            None => {}
        }
    }
    Err(lacks(other.map_or_else(|| "but does not".into(), |other| format!("but exports {other}"))))
}

fn member(engine: &Engine, instance: &ComponentInstance, name: &str) -> Option<ComponentItem> {
    instance.get_export(engine, name).map(|export| export.ty)
}

/// Checks a function's parameters and result against those of the bindings.
fn typed<Parameters, Answer>(
    ty: &ComponentType,
    found: &ComponentItem,
    package: &str,
    interface: &str,
    function: &str,
) -> Result<(), String>
where
    Parameters: ComponentNamedList + wasmtime::component::Lower,
    Answer: ComponentNamedList + wasmtime::component::Lift,
{
    let checked = match found {
        ComponentItem::ComponentFunc(found) => {
            found.typecheck::<Parameters, Answer>(&ty.instance_type()).map_err(|error| format!("{error:#}"))
        }
        _ => Err("it is not a function".into()),
    };
    checked.map_err(|cause| {
        let cause = clean(&cause);
        format!(
            "it is not a policy of this interface: its {function} does not have the type of \
             {package}/{interface}@{VERSION} ({cause}); {}",
            offered()
        )
    })
}

/// The interface and version in a name of a package.
fn of<'a>(package: &str, name: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = name.strip_prefix(package)?.strip_prefix('/')?;
    Some(rest.split_once('@').unwrap_or((rest, "")))
}

/// Whether the host can link a version: a released one before 1.0 with the same minor version, or the very pre-release.
fn compatible(version: &str) -> bool {
    let minor = |version: &str| match version.rsplit_once('.') {
        Some((minor, _)) if !version.contains('-') => Some(minor.to_owned()),
        _ => None,
    };
    version == VERSION || (minor(version).is_some() && minor(version) == minor(VERSION))
}
