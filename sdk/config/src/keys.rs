//! The values of an object's keys, read with their types: an absent key is `None` or an empty list, and a wrong value is an error with
//! its path.

use std::net::IpAddr;

use crate::{ConfigError, Json, Node, Subnet};

impl Node {
    /// The value of a key that must be there.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"quota": 3}"#)?;
    /// assert_eq!(ipam.need("quota")?.count()?, 3);
    /// assert_eq!(ipam.need("zone").unwrap_err().to_string(), "ipam.zone: is missing");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is absent or null, or if this is not an object.
    pub fn need(&self, key: &str) -> Result<Self, ConfigError> {
        let missing = || ConfigError::new(format!("{}.{key}", self.path()), "is missing");
        self.get(key)?.ok_or_else(missing)
    }

    /// The string of a key that must be there.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let tenant = Node::parse("ipam.tenants[0]", r#"{"name": "shop", "quota": 50}"#)?;
    /// assert_eq!((tenant.need_text("name")?.as_str(), tenant.need_count("quota")?), ("shop", 50));
    /// assert_eq!(tenant.need_text("zone").unwrap_err().to_string(), "ipam.tenants[0].zone: is missing");
    /// assert_eq!(tenant.need_count("name").unwrap_err().path, "ipam.tenants[0].name");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is absent or another value, or if this is not an object.
    pub fn need_text(&self, key: &str) -> Result<String, ConfigError> {
        self.need(key)?.text().map(str::to_owned)
    }

    /// The non-negative integer of a key that must be there.
    ///
    /// # Errors
    /// If it is absent or another value, or if this is not an object.
    pub fn need_count(&self, key: &str) -> Result<u32, ConfigError> {
        self.need(key)?.count()
    }

    /// A key's non-negative integer; `None` if the key is absent.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"spare": 2, "warm": "x"}"#)?;
    /// assert_eq!((ipam.get_count("spare")?, ipam.get_count("quota")?.unwrap_or(10)), (Some(2), 10));
    /// assert_eq!(ipam.get_count("warm").unwrap_err().path, "ipam.warm");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_count(&self, key: &str) -> Result<Option<u32>, ConfigError> {
        self.get(key)?.map(|value| value.count()).transpose()
    }

    /// Whether a key is true; false if the key is absent.
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_flag(&self, key: &str) -> Result<bool, ConfigError> {
        let Some(value) = self.get(key)? else { return Ok(false) };
        match value.value() {
            Json::Bool(flag) => Ok(*flag),
            _ => Err(value.wrong("must be true or false")),
        }
    }

    /// A key's string; `None` if the key is absent.
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        self.get(key)?.map(|value| value.text().map(str::to_owned)).transpose()
    }

    /// A key's address; `None` if the key is absent or its string empty.
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_address(&self, key: &str) -> Result<Option<IpAddr>, ConfigError> {
        Ok(self.get(key)?.map(|value| value.address()).transpose()?.flatten())
    }

    /// A key's subnet; `None` if the key is absent.
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_subnet(&self, key: &str) -> Result<Option<Subnet>, ConfigError> {
        self.get(key)?.map(|value| value.subnet()).transpose()
    }

    /// The items of a key's list; none if the key is absent.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"tenants": [{"quota": 3}, {"quota": "x"}]}"#)?;
    /// let quotas: Vec<_> = ipam.get_list("tenants")?.iter().map(|tenant| tenant.get_count("quota")).collect();
    /// assert_eq!(quotas[0], Ok(Some(3)));
    /// assert_eq!(quotas[1].as_ref().unwrap_err().path, "ipam.tenants[1].quota");
    /// assert!(ipam.get_list("racks")?.is_empty());
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_list(&self, key: &str) -> Result<Vec<Self>, ConfigError> {
        self.get(key)?.map_or_else(|| Ok(Vec::new()), |value| value.items())
    }

    /// The strings of a key's list; none if the key is absent.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"racks": ["a", "b"], "zones": ["a", 1]}"#)?;
    /// assert_eq!(ipam.get_texts("racks")?, ["a", "b"]);
    /// assert_eq!(ipam.get_texts("zones").unwrap_err().to_string(), "ipam.zones[1]: must be a string");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        self.get_list(key)?.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    /// The entries of a key's object, in the order in which they were written; none if the key is absent.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"quota": {"shop": 20}}"#)?;
    /// for (namespace, quota) in ipam.get_entries("quota")? {
    ///     assert_eq!((namespace.as_str(), quota.count()?), ("shop", 20));
    /// }
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If it is another value, or if this is not an object.
    pub fn get_entries(&self, key: &str) -> Result<Vec<(String, Self)>, ConfigError> {
        self.get(key)?.map_or_else(|| Ok(Vec::new()), |value| value.entries())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_key_is_nothing_and_a_wrong_value_names_its_path() {
        let text = r#"{"flag": true, "name": "a", "at": "10.1.2.3", "in": "10.1.2.0/24", "null": null, "empty": ""}"#;
        let ipam = Node::parse("ipam", text).unwrap();
        assert_eq!((ipam.get_flag("flag"), ipam.get_flag("null")), (Ok(true), Ok(false)));
        assert_eq!((ipam.get_text("name"), ipam.get_text("none")), (Ok(Some("a".into())), Ok(None)));
        assert_eq!(ipam.get_address("at"), Ok(Some("10.1.2.3".parse().unwrap())));
        assert_eq!((ipam.get_address("empty"), ipam.get_address("none")), (Ok(None), Ok(None)));
        assert_eq!(ipam.get_subnet("in").unwrap().unwrap().to_string(), "10.1.2.0/24");
        assert_eq!(ipam.get_entries("null").unwrap().len(), 0);
        for (path, error) in [
            ("ipam.name", ipam.get_flag("name").map(drop).unwrap_err()),
            ("ipam.flag", ipam.get_text("flag").map(drop).unwrap_err()),
            ("ipam.name", ipam.get_address("name").map(drop).unwrap_err()),
            ("ipam.name", ipam.get_subnet("name").map(drop).unwrap_err()),
            ("ipam.name", ipam.get_list("name").map(drop).unwrap_err()),
            ("ipam.name", ipam.get_entries("name").map(drop).unwrap_err()),
        ] {
            assert_eq!(error.path, path, "{error}");
        }
        assert!(Node::parse("ipam", "[]").unwrap().get_text("name").is_err(), "not an object");
    }
}
