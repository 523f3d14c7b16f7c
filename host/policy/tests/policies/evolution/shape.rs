//! An interface as compiled components depend on it: what each thing is called and what it consists of, without its documentation.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "test helpers are part of the tests")]

use std::collections::BTreeMap;

use wit_parser::{Function, Resolve, Type, TypeDefKind, TypeOwner, WorldItem};

/// A version of the interface.
#[derive(Debug)]
pub(super) struct Shape {
    /// The version up to which components load: before 1.0, major and minor.
    pub(super) version: String,
    /// The types and functions of each interface, by its name.
    pub(super) interfaces: BTreeMap<String, Interface>,
    /// The names of what each world imports and exports, by its name.
    pub(super) worlds: BTreeMap<String, World>,
}

#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) types: BTreeMap<String, String>,
    pub(super) functions: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

impl Shape {
    /// Reads the text of an interface.
    pub(super) fn read(text: &str) -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_source("ipam.wit", text).unwrap();
        let package = &resolve.packages[package];
        let version = package.name.version.as_ref().unwrap();
        let interface = |(name, id): (&String, &wit_parser::InterfaceId)| {
            let found = &resolve.interfaces[*id];
            let types = found.types.iter().map(|(name, id)| (name.clone(), definition(&resolve, *id)));
            let functions =
                found.functions.iter().map(|(name, found)| (name.clone(), signature(&resolve, found)));
            (name.clone(), Interface { types: types.collect(), functions: functions.collect() })
        };
        let world = |(name, id): (&String, &wit_parser::WorldId)| {
            let found = &resolve.worlds[*id];
            let names = |items: &wit_parser::IndexMap<wit_parser::WorldKey, WorldItem>| {
                items.keys().map(|key| resolve.name_world_key(key)).map(|name| local(&name)).collect()
            };
            (name.clone(), World { imports: names(&found.imports), exports: names(&found.exports) })
        };
        // The packages of the file share no names.
        let packages = || resolve.packages.iter().map(|(_, package)| package);
        Self {
            version: format!("{}.{}", version.major, version.minor),
            interfaces: packages().flat_map(|package| &package.interfaces).map(interface).collect(),
            worlds: packages().flat_map(|package| &package.worlds).map(world).collect(),
        }
    }

    /// Whether a world exports an interface, so that components implement it.
    pub(super) fn exports(&self, interface: &str) -> bool {
        self.worlds.values().any(|world| world.exports.iter().any(|name| name == interface))
    }
}

/// The name of an interface without its package and version.
fn local(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.split('@').next().unwrap_or(name).to_owned()
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let parameters: Vec<_> = function
        .params
        .iter()
        .map(|found| format!("{}: {}", found.name, shown(resolve, &found.ty)))
        .collect();
    let result = function.result.map(|result| format!(" -> {}", shown(resolve, &result)));
    format!("func({}){}", parameters.join(", "), result.unwrap_or_default())
}

/// Writes out a type's definition; other types are only named.
fn definition(resolve: &Resolve, id: wit_parser::TypeId) -> String {
    let case = |name: &str, of: Option<Type>| match of {
        Some(of) => format!("{name}({})", shown(resolve, &of)),
        None => name.to_owned(),
    };
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            let fields =
                record.fields.iter().map(|field| format!("{}: {}", field.name, shown(resolve, &field.ty)));
            format!("record {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|found| case(&found.name, found.ty));
            format!("variant {{ {} }}", cases.collect::<Vec<_>>().join(", "))
        }
        TypeDefKind::Enum(found) => {
            let cases: Vec<_> = found.cases.iter().map(|found| found.name.as_str()).collect();
            format!("enum {{ {} }}", cases.join(", "))
        }
        TypeDefKind::Flags(found) => {
            let flags: Vec<_> = found.flags.iter().map(|found| found.name.as_str()).collect();
            format!("flags {{ {} }}", flags.join(", "))
        }
        TypeDefKind::Type(of) => shown(resolve, of),
        TypeDefKind::List(of) => format!("list<{}>", shown(resolve, of)),
        TypeDefKind::Option(of) => format!("option<{}>", shown(resolve, of)),
        TypeDefKind::Result(of) => {
            let side = |of: Option<Type>| of.map_or_else(|| "_".to_owned(), |of| shown(resolve, &of));
            format!("result<{}, {}>", side(of.ok), side(of.err))
        }
        TypeDefKind::Tuple(of) => {
            let parts: Vec<_> = of.types.iter().map(|of| shown(resolve, of)).collect();
            format!("tuple<{}>", parts.join(", "))
        }
        // The interface has none of the others, and EVOLUTION.md says why.
        other => panic!("a {} is not for every language", other.as_str()),
    }
}

/// A type as it is written where it is used.
fn shown(resolve: &Resolve, found: &Type) -> String {
    let Type::Id(id) = found else { return format!("{found:?}").to_lowercase() };
    let found = &resolve.types[*id];
    match (&found.name, found.owner) {
        (Some(_), TypeOwner::Interface(_)) if matches!(found.kind, TypeDefKind::Type(_)) => {
            definition(resolve, *id)
        }
        (Some(name), TypeOwner::Interface(interface)) => {
            format!("{}.{name}", resolve.interfaces[interface].name.as_deref().unwrap_or_default())
        }
        _ => definition(resolve, *id),
    }
}
