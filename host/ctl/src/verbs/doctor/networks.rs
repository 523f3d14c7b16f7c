//! The network configurations: which one a runtime uses, and whether it has the plugins for it.

use std::collections::BTreeMap;
use std::fs;

use super::node::Location;
use crate::report::NodeCheck;
use crate::verbs::conflist::{self, CniConfiguration, HOST_LOCAL, IPAM_PLUGIN};

/// The plugins of Multus, thin and thick, which call the plugins of other configurations, and therefore come first.
const MULTUS: [&str; 2] = ["multus", "multus-shim"];

/// The configurations of a directory, in a runtime's order.
pub(super) struct ConfigurationFiles {
    pub(super) directory: Location,
    files: BTreeMap<String, Result<CniConfiguration, String>>,
    /// Why the directory cannot be read; empty if it can.
    error: String,
    /// Whether the plugin `host-local` is ours.
    is_linked: bool,
}

impl ConfigurationFiles {
    /// Reads a directory of configurations.
    pub(super) fn read(directory: &Location, binaries: &Location) -> Self {
        let target = fs::read_link(binaries.real.join(HOST_LOCAL));
        let is_linked = target.is_ok_and(|target| target.file_name().is_some_and(|name| name == IPAM_PLUGIN));
        let (files, error) = match conflist::listed(&directory.real) {
            Ok(files) => (files, String::new()),
            Err(error) => (BTreeMap::new(), error.to_string()),
        };
        Self { directory: directory.clone(), files, error, is_linked }
    }

    /// The configurations that use tenure, or the others.
    pub(super) fn using_tenure(&self, uses: bool) -> impl Iterator<Item = (&str, &CniConfiguration)> {
        let usable = self.files.iter().filter_map(|(name, file)| Some((name.as_str(), file.as_ref().ok()?)));
        usable.filter(move |(_, file)| file.uses_tenure(self.is_linked) == uses)
    }
}

/// Checks which configuration comes first.
pub(super) fn order(files: &ConfigurationFiles, is_before: bool) -> NodeCheck {
    const NAME: &str = "configurations";
    let directory = files.directory.named.display();
    if !files.error.is_empty() {
        let next = "pass the runtime's directory with --cni-conf-dir, and run this command as root";
        return NodeCheck::problem(NAME, format!("{directory}: {}", files.error), next);
    }
    let Some((first, read)) = files.files.first_key_value() else {
        return match is_before {
            true => NodeCheck::fine(NAME, format!("none in {directory} yet")),
            false => {
                let next =
                    "`tenurectl install --configuration FILE --apply`; the kubelet waits for a network";
                NodeCheck::problem(NAME, format!("none in {directory}"), next)
            }
        };
    };
    let first_file = match read {
        Ok(file) => file,
        Err(why) => {
            let found = format!("{first}, which a runtime reads first, is unusable: {why}");
            return NodeCheck::problem(NAME, found, "repair it, or move it away");
        }
    };
    match files.using_tenure(true).next() {
        Some((ours, file)) if ours == first => {
            NodeCheck::fine(NAME, format!("{ours} comes first, with network {}", file.name))
        }
        Some((ours, _)) if first_file.plugins.iter().any(|plugin| MULTUS.contains(&plugin.kind.as_str())) => {
            NodeCheck::fine(NAME, format!("{first} is Multus, and then comes {ours}"))
        }
        Some((ours, _)) => NodeCheck::problem(
            NAME,
            format!("{first} comes before {ours}: a runtime that uses one network uses that"),
            "move it away, or install ours under an earlier name with --configuration-name",
        ),
        None if is_before => NodeCheck::fine(NAME, format!("{first} comes first now")),
        None => NodeCheck::problem(
            NAME,
            format!("none in {directory} uses tenure; {first} comes first"),
            "`tenurectl install --configuration FILE --apply`",
        ),
    }
}

/// Checks that each plugin of our configurations exists.
pub(super) fn plugins(files: &ConfigurationFiles, binaries: &Location) -> NodeCheck {
    const NAME: &str = "listed-plugins";
    let mut named = Vec::new();
    for (file, configuration) in files.using_tenure(true) {
        for plugin in &configuration.plugins {
            for program in [&plugin.kind, &plugin.ipam] {
                if !program.is_empty() && !binaries.real.join(program).exists() {
                    let directory = binaries.named.display();
                    let next =
                        "install it (on Debian, package containernetworking-plugins), or pass --cni-bin-dir";
                    let found = format!("{file} needs the plugin {program}, which is not in {directory}");
                    return NodeCheck::problem(NAME, found, next);
                }
                if !program.is_empty() && !named.contains(program) {
                    named.push(program.clone());
                }
            }
        }
    }
    match named.is_empty() {
        true => NodeCheck::skipped(NAME, "no configuration uses tenure"),
        false => NodeCheck::fine(NAME, named.join(", ")),
    }
}
