//! The CNI configuration that defines a network without an ADD: a plugin configuration, or a list with a plugin that uses tenure.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use tenure_types::{Error, ErrorCode};

use super::conflist::ListedPlugin;
use super::file::{malformed, read as bytes_of, unreadable};

/// The file name that means standard input.
const STDIN: &str = "-";

/// Reads a configuration from a file, or from standard input if the name is `-`. Returns the network's name, and the configuration
/// as the plugin would send it to the daemon.
pub(super) fn read_or_stdin(file: &Path) -> Result<(String, Vec<u8>), Error> {
    if file != Path::new(STDIN) {
        return read(file);
    }
    let (mut text, name) = (Vec::new(), Path::new("standard input"));
    std::io::stdin().read_to_end(&mut text).map_err(|error| unreadable(name, &error))?;
    parse(name, &text)
}

/// Reads a configuration. Returns the network's name, and the configuration as the plugin would send it to the daemon.
pub(super) fn read(file: &Path) -> Result<(String, Vec<u8>), Error> {
    parse(file, &bytes_of(file)?)
}

fn parse(file: &Path, text: &[u8]) -> Result<(String, Vec<u8>), Error> {
    let config: Value = serde_json::from_slice(text).map_err(|error| malformed(file, &error))?;
    let invalid =
        |what: &str| Error::new(ErrorCode::InvalidConfig, format_args!("{}: {what}", file.display()));
    let name = config.get("name").and_then(Value::as_str).ok_or_else(|| invalid("it has no name"))?;
    let plugin = match config.get("plugins").and_then(Value::as_array) {
        None => config.clone(),
        Some(plugins) => {
            // The plugin may be installed under host-local's name and serve configurations that say host-local.
            let ours = |plugin: &&Value| ListedPlugin::of(plugin).uses_tenure(true);
            let mut plugin =
                plugins.iter().find(ours).cloned().ok_or_else(|| invalid("no plugin uses tenure"))?;
            for key in ["name", "cniVersion"] {
                if let (Some(plugin), Some(value)) = (plugin.as_object_mut(), config.get(key)) {
                    plugin.insert(key.to_owned(), value.clone());
                }
            }
            plugin
        }
    };
    Ok((name.to_owned(), plugin.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_text(text: &str) -> Result<(String, Value), Error> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("net.conflist");
        fs::write(&file, text).unwrap();
        read(&file).map(|(name, text)| (name, serde_json::from_slice(&text).unwrap()))
    }

    #[test]
    fn a_list_gives_what_its_plugin_would_get() {
        let text = r#"{"cniVersion": "1.1.0", "name": "pods", "plugins": [{"type": "loopback"},
            {"type": "bridge", "ipam": {"type": "tenure", "ranges": []}}, {"type": "portmap"}]}"#;
        let (name, config) = read_text(text).unwrap();
        assert_eq!(
            (name.as_str(), &config["name"], &config["cniVersion"]),
            ("pods", &"pods".into(), &"1.1.0".into())
        );
        assert_eq!(config["type"], "bridge");
        let linked = r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "host-local"}}]}"#;
        assert_eq!(read_text(linked).unwrap().1["ipam"]["type"], "host-local");
        // As in the book's page on the datapath.
        let main = r#"{"name": "pods", "plugins": [{"type": "tenure-eni", "ipam": {"ranges": []}}, {"type": "portmap"}]}"#;
        assert_eq!(read_text(main).unwrap().1["type"], "tenure-eni");
        let alone = r#"{"name": "pods", "ipam": {"type": "tenure"}}"#;
        assert_eq!(read_text(alone).unwrap().1["ipam"]["type"], "tenure");
        let error = read_text("no").unwrap_err();
        assert!(error.code == ErrorCode::MalformedConfig && error.cause.contains(": it is not JSON: "));
        for wrong in ["{}", r#"{"name": "pods", "plugins": [{"type": "bridge", "ipam": {"type": "dhcp"}}]}"#]
        {
            assert_eq!(read_text(wrong).unwrap_err().code, ErrorCode::InvalidConfig, "{wrong}");
        }
    }
}
