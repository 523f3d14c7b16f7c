//! NetworkAttachmentDefinitions: those with addresses of whereabouts, and their configuration once tenure has its place.

use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::problem::NetworkProblem;
use super::settings::{WHEREABOUTS, WhereaboutsSettings};

/// The spec of a NetworkAttachmentDefinition.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DefinitionSpec {
    /// The CNI configuration or a list of them. Without it, Multus reads a file of the node.
    #[serde(default)]
    pub(super) config: String,
}

/// A NetworkAttachmentDefinition with addresses of whereabouts.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// `NAMESPACE/NAME`.
    pub(super) label: String,
    pub(super) metadata: ObjectMeta,
    /// The name of its network.
    pub(super) network: String,
    pub(super) settings: WhereaboutsSettings,
    /// Whether its main plugin needs a gateway, and chooses one where `ipam` has none.
    pub(super) chooses_gateway: bool,
    config: Value,
}

impl Definition {
    /// Reads a configuration; `None` if none of its plugins has addresses of whereabouts.
    pub(super) fn read(
        label: String,
        metadata: ObjectMeta,
        config: &str,
        flat: &WhereaboutsSettings,
    ) -> Result<Option<Self>, NetworkProblem> {
        let unread = |error: serde_json::Error| NetworkProblem::Unread(error.to_string());
        let config: Value = serde_json::from_str(config).map_err(unread)?;
        let plugins: Vec<&Map<String, Value>> = plugins(&config).collect();
        let (plugin, ipam) = match plugins.as_slice() {
            [] => return Ok(None),
            [plugin] => (plugin, ipam_of(plugin).cloned().unwrap_or_default()),
            _ => return Err(NetworkProblem::SeveralPlugins),
        };
        let settings = WhereaboutsSettings::read(&ipam);
        let mut settings = settings.map_err(|error| NetworkProblem::Settings(error.to_string()))?;
        settings.fill(flat);
        // As Multus names it.
        let named = config.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let network = named.or(metadata.name.as_deref()).unwrap_or_default().to_owned();
        let is_on = |key| plugin.get(key) == Some(&Value::Bool(true));
        let chooses_gateway = is_on("isGateway") || is_on("isDefaultGateway");
        Ok(Some(Self { label, metadata, network, settings, chooses_gateway, config }))
    }

    /// The configuration as it is.
    pub(super) fn before(&self) -> String {
        self.config.to_string()
    }

    /// The configuration with the addresses of a pool of tenure.
    pub(super) fn after(&self, network: &str, pool: &str) -> Value {
        let routes = Some(&self.settings.routes).filter(|routes| !routes.is_empty());
        let ipam = match routes {
            Some(routes) => json!({ "type": "tenure", "pools": [pool], "routes": routes }),
            None => json!({ "type": "tenure", "pools": [pool] }),
        };
        let mut config = self.config.clone();
        if let Some(config) = config.as_object_mut() {
            config.insert("name".to_owned(), network.into());
        }
        let is_list = config.get("plugins").is_some();
        let plugins = match config.get_mut("plugins").and_then(Value::as_array_mut) {
            Some(plugins) => plugins.as_mut_slice(),
            None if is_list => &mut [],
            None => std::slice::from_mut(&mut config),
        };
        for plugin in plugins.iter_mut().filter_map(Value::as_object_mut) {
            if ipam_of(plugin).is_some() {
                plugin.insert("ipam".to_owned(), ipam.clone());
            }
        }
        config
    }
}

/// The plugins of a configuration that have addresses of whereabouts.
fn plugins(config: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let listed = config.get("plugins").and_then(Value::as_array);
    let plugins = listed.map_or_else(|| std::slice::from_ref(config), Vec::as_slice);
    plugins.iter().filter_map(Value::as_object).filter(|plugin| ipam_of(plugin).is_some())
}

/// The `ipam` of a plugin, if it is of whereabouts.
fn ipam_of(plugin: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let ipam = plugin.get("ipam")?.as_object()?;
    ipam.get("type").is_some_and(|kind| kind == WHEREABOUTS).then_some(ipam)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str) -> Result<Option<Definition>, NetworkProblem> {
        let metadata = ObjectMeta { name: Some("storage".to_owned()), ..ObjectMeta::default() };
        Definition::read("shop/storage".to_owned(), metadata, config, &WhereaboutsSettings::default())
    }

    #[test]
    fn whereabouts_is_found_in_a_configuration_and_in_a_list() {
        let alone = r#"{"type": "macvlan", "ipam": {"type": "whereabouts", "range": "10.1.0.0/16",
            "routes": [{"dst": "10.9.0.0/16"}]}}"#;
        let found = read(alone).unwrap().unwrap();
        assert_eq!((found.network.as_str(), found.chooses_gateway), ("storage", false));
        assert_eq!(
            found.after("storage", "pool"),
            json!({ "name": "storage", "type": "macvlan",
                "ipam": { "type": "tenure", "pools": ["pool"], "routes": [{ "dst": "10.9.0.0/16" }] } })
        );
        let list = r#"{"cniVersion": "1.0.0", "name": "lab", "plugins": [
            {"type": "bridge", "isGateway": true, "ipam": {"type": "whereabouts"}}, {"type": "tuning"}]}"#;
        let found = read(list).unwrap().unwrap();
        assert_eq!((found.network.as_str(), found.chooses_gateway), ("lab", true));
        let plugins = json!([{ "type": "bridge", "isGateway": true, "ipam": { "type": "tenure", "pools": ["lab"] } },
            { "type": "tuning" }]);
        assert_eq!(
            found.after("blue", "lab"),
            json!({ "cniVersion": "1.0.0", "name": "blue", "plugins": plugins })
        );
    }

    #[test]
    fn others_are_left_alone_and_what_cannot_be_read_is_said() {
        for other in
            [r#"{"type": "macvlan", "ipam": {"type": "host-local"}}"#, r#"{"type": "macvlan"}"#, "7", "{}"]
        {
            assert!(read(other).unwrap().is_none(), "{other}");
        }
        let words = |config| read(config).err().unwrap().to_string();
        let broken = words(r#"{"type": "macvlan", "ipam": {"type": "whereabouts",}}"#);
        assert!(broken.starts_with("its spec.config cannot be read: trailing comma at line 1"), "{broken}");
        let wrong = words(r#"{"ipam": {"type": "whereabouts", "range": 7}}"#);
        assert!(wrong.starts_with("its ipam cannot be read: invalid type: integer `7`"), "{wrong}");
        let twice = r#"{"plugins": [{"ipam": {"type": "whereabouts"}}, {"ipam": {"type": "whereabouts"}}]}"#;
        assert!(words(twice).starts_with("several of its plugins"));
    }
}
