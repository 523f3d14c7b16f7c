//! Network configurations of CNI as a runtime reads them: their plugins, and which of them use tenure.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use serde_json::Value;
use tenure_rpc::LONGEST_CONFIG;

/// The extensions of the files that runtimes read.
const EXTENSIONS: [&str; 3] = ["conf", "conflist", "json"];

/// The plugin's name as an IPAM plugin, and its name as a main plugin.
pub(super) const IPAM_PLUGIN: &str = "tenure";
pub(super) const MAIN_PLUGIN: &str = "tenure-eni";

/// The reference plugin, whose name ours may have, too.
pub(super) const HOST_LOCAL: &str = "host-local";

/// The key of an `ipam` object that names the directory of host-local's addresses.
const DATA_DIRECTORY: &str = "dataDir";

/// A network configuration.
#[derive(Debug, PartialEq)]
pub(super) struct CniConfiguration {
    pub(super) name: String,
    /// Whether it is a list of plugins, as opposed to a single one.
    pub(super) is_list: bool,
    /// The plugins, with those of the configurations in it that Multus delegates to.
    pub(super) plugins: Vec<ListedPlugin>,
}

/// A plugin of a network configuration.
#[derive(Debug, PartialEq)]
pub(super) struct ListedPlugin {
    pub(super) kind: String,
    /// The IPAM plugin that it calls; empty if it calls none.
    pub(super) ipam: String,
    /// The directory of host-local's addresses that its `ipam` names; empty if it names none.
    pub(super) data_directory: String,
}

impl CniConfiguration {
    /// Parses a file's text; the error says what is wrong with it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let config: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let name = string(&config, "/name");
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        let own = plugins_of(&config);
        let mut plugins: Vec<_> = own.iter().map(ListedPlugin::of).collect();
        if plugins.is_empty() || plugins.iter().any(|plugin| plugin.kind.is_empty()) {
            return Err("it has no plugin, or one without a type".to_owned());
        }
        // Multus writes the configurations that it calls into its own.
        let delegates = own.iter().filter_map(|plugin| plugin.get("delegates")?.as_array()).flatten();
        plugins.extend(delegates.flat_map(plugins_of).map(ListedPlugin::of));
        Ok(Self { name, is_list: config.get("plugins").is_some_and(Value::is_array), plugins })
    }

    /// Whether tenure assigns its addresses. A plugin linked as `host-local` counts if `is_linked` says that it is ours.
    pub(super) fn uses_tenure(&self, is_linked: bool) -> bool {
        self.plugins.iter().any(|plugin| plugin.uses_tenure(is_linked))
    }

    /// The directories of host-local's addresses that it names: the daemon compares itself with what is there.
    pub(super) fn data_directories(&self) -> impl Iterator<Item = &str> {
        self.plugins
            .iter()
            .map(|plugin| plugin.data_directory.as_str())
            .filter(|directory| directory.starts_with('/'))
    }

    /// Whether the daemon makes the links of its pods.
    pub(super) fn makes_links(&self) -> bool {
        self.plugins.iter().any(|plugin| plugin.kind == MAIN_PLUGIN)
    }
}

impl ListedPlugin {
    /// Reads a plugin of a list, or a configuration of a single one.
    pub(super) fn of(plugin: &Value) -> Self {
        let keys = plugin.get("ipam").and_then(Value::as_object).into_iter().flatten();
        // Go's JSON, and so host-local, takes a key however it is capitalised.
        let mut keys = keys.filter(|(key, _)| key.eq_ignore_ascii_case(DATA_DIRECTORY));
        let data_directory = keys.next_back().and_then(|(_, value)| value.as_str()).unwrap_or_default();
        let (kind, ipam) = (string(plugin, "/type"), string(plugin, "/ipam/type"));
        Self { kind, ipam, data_directory: data_directory.to_owned() }
    }

    /// Whether it calls tenure: as its IPAM plugin, by either name, or as the main plugin, whose `ipam` needs no type.
    pub(super) fn uses_tenure(&self, is_linked: bool) -> bool {
        self.ipam == IPAM_PLUGIN || self.kind == MAIN_PLUGIN || is_linked && self.ipam == HOST_LOCAL
    }
}

/// The plugins of a list, or the configuration of a single one.
fn plugins_of(config: &Value) -> &[Value] {
    let list = config.get("plugins").and_then(Value::as_array);
    list.map_or_else(|| std::slice::from_ref(config), Vec::as_slice)
}

/// A string in a JSON object; empty if there is none.
fn string(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The configurations in a directory, by the names of their files, in the order in which a runtime reads them. A directory that
/// does not exist has none.
pub(super) fn listed(directory: &Path) -> io::Result<BTreeMap<String, Result<CniConfiguration, String>>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let read = read(&path).map_err(|error| error.to_string());
            files.insert(name, read.and_then(|text| CniConfiguration::parse(&text)));
        }
    }
    Ok(files)
}

/// The text of a regular file of reasonable length; opening it blocks on nobody.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file =
        fs::File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = Vec::new();
    file.take(LONGEST_CONFIG as u64 + 1).read_to_end(&mut text)?;
    match text.len() > LONGEST_CONFIG {
        true => Err(io::Error::other(format!("longer than {LONGEST_CONFIG} bytes"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CniConfiguration, String> {
        CniConfiguration::parse(text.as_bytes())
    }

    #[test]
    fn a_configuration_uses_tenure_by_either_name() {
        let list = parse(
            r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "tenure", "datadir": "/data"}}, {"type": "portmap"}]}"#,
        )
        .unwrap();
        assert_eq!(list.data_directories().collect::<Vec<_>>(), ["/data"]);
        assert!(list.is_list && list.uses_tenure(false) && !list.makes_links());
        assert_eq!(list.plugins.len(), 2);
        let main = parse(r#"{"name": "pods", "plugins": [{"type": "tenure-eni", "ipam": {}}]}"#).unwrap();
        assert!(main.uses_tenure(false) && main.makes_links());
        let linked = parse(r#"{"name": "pods", "type": "ptp", "ipam": {"type": "host-local"}}"#).unwrap();
        assert!(!linked.is_list && linked.uses_tenure(true) && !linked.uses_tenure(false));
    }

    #[test]
    fn a_configuration_of_multus_uses_what_it_delegates_to() {
        let multus = |delegate: &str| {
            parse(&format!(r#"{{"name": "m", "type": "multus", "delegates": [{delegate}]}}"#)).unwrap()
        };
        let single = r#"{"type": "bridge", "ipam": {"type": "tenure"}}"#;
        assert!(multus(single).uses_tenure(false));
        assert!(multus(&format!(r#"{{"name": "pods", "plugins": [{single}]}}"#)).uses_tenure(false));
        assert!(!multus(r#"{"type": "flannel"}"#).uses_tenure(true));
    }

    #[test]
    fn a_file_that_is_none_says_why() {
        for (text, why) in [
            ("{", "EOF"),
            (r#"{"plugins": [{"type": "bridge"}]}"#, "no name"),
            (r#"{"name": "pods", "plugins": []}"#, "no plugin"),
            (r#"{"name": "pods", "plugins": [{"ipam": {}}]}"#, "without a type"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_directory_lists_what_a_runtime_reads_in_its_order() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert!(listed(&at("none")).unwrap().is_empty());
        fs::write(at("20-b.conf"), r#"{"name": "b", "type": "ptp"}"#).unwrap();
        fs::write(at("10-a.conflist"), "{").unwrap();
        fs::write(at(".00-tenure.conflist.new"), "{").unwrap();
        fs::create_dir(at("30-c.json")).unwrap();
        let listed = listed(directory.path()).unwrap();
        let names: Vec<_> = listed.iter().map(|(name, read)| (name.as_str(), read.is_ok())).collect();
        assert_eq!(names, [("10-a.conflist", false), ("20-b.conf", true), ("30-c.json", false)]);
    }
}
