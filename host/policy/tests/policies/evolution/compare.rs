//! Whether components of a frozen version still load: the table in `wit/EVOLUTION.md`, which was measured.

use super::shape::{Interface, Shape};

/// Lists what would keep components of the old version from loading; empty if nothing.
pub(super) fn complaints(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (Shape::read(old), Shape::read(new));
    let mut found = Vec::new();
    if old.version != new.version {
        found.push(format!(
            "the version was {} and is {}: a host links only the same minor version",
            old.version, new.version
        ));
    }
    for (name, before) in &old.interfaces {
        match new.interfaces.get(name) {
            Some(now) => interface(name, before, now, old.exports(name), &mut found),
            None => found.push(format!("the interface {name} is gone")),
        }
    }
    for (name, before) in &old.worlds {
        let Some(now) = new.worlds.get(name) else {
            found.push(format!("the world {name} is gone"));
            continue;
        };
        for import in before.imports.iter().filter(|import| !now.imports.contains(import)) {
            found.push(format!("the world {name} no longer imports {import}"));
        }
        if before.exports != now.exports {
            found.push(format!(
                "the world {name} exported {} and exports {}: an optional ability is a world of its own",
                before.exports.join(", "),
                now.exports.join(", ")
            ));
        }
    }
    found
}

fn interface(name: &str, before: &Interface, now: &Interface, is_exported: bool, found: &mut Vec<String>) {
    let members = [("type", &before.types, &now.types), ("function", &before.functions, &now.functions)];
    for (what, before, now) in members {
        for (member, was) in before {
            match now.get(member) {
                Some(is) if is == was => {}
                Some(is) => found.push(format!("the {what} {name}.{member} was {was} and is {is}")),
                None => found.push(format!("the {what} {name}.{member} is gone")),
            }
        }
    }
    for added in now.functions.keys().filter(|added| is_exported && !before.functions.contains_key(*added)) {
        found.push(format!("components export {name}, so it cannot get the function {added}: use an interface and a world of its own"));
    }
}
