//! A configuration read by path: keys are case-insensitive, as in Go, and an error names the path of the wrong value.

use std::net::IpAddr;

use crate::{ConfigError, Json, Subnet};

/// A value and its path.
///
/// ```
/// use tenure_sdk_config::Node;
///
/// let ipam = Node::parse("ipam", r#"{"spare": ["10.1.2.9", "10.1.2"]}"#)?;
/// let spare = ipam.get("spare")?.map(|spare| spare.items()).transpose()?.unwrap_or_default();
/// assert_eq!(spare[0].address()?, Some("10.1.2.9".parse().unwrap()));
/// assert_eq!(spare[1].address().unwrap_err().to_string(), "ipam.spare[1]: invalid IP address: 10.1.2");
/// # Ok::<(), tenure_sdk_config::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Node {
    path: String,
    value: Json,
}

impl Node {
    /// Parses the JSON text at a path.
    ///
    /// # Errors
    /// If it is not valid JSON.
    pub fn parse(path: &str, text: &str) -> Result<Self, ConfigError> {
        let value = serde_json::from_str(text).map_err(|error| ConfigError::new(path, error.to_string()))?;
        Ok(Self { path: path.into(), value })
    }

    /// The path of the value.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// The value of an object's key; `None` if it is absent or null. If keys differ only in case, the last one
    /// counts.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"Quota": 3, "zone": null}"#)?;
    /// assert_eq!(ipam.get("quota")?.map(|quota| quota.count()).transpose()?, Some(3));
    /// assert!(ipam.get("zone")?.is_none());
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If this is not an object.
    pub fn get(&self, key: &str) -> Result<Option<Self>, ConfigError> {
        let found = entry(&self.value, key).map_err(|why| self.wrong(why))?;
        Ok(found.map(|value| Self { path: format!("{}.{key}", self.path), value: value.clone() }))
    }

    /// The items of a list; none if it is null.
    ///
    /// # Errors
    /// If this is not a list.
    pub fn items(&self) -> Result<Vec<Self>, ConfigError> {
        let items = items(&self.value).map_err(|why| self.wrong(why))?;
        let node = |(index, value): (usize, &Json)| Self {
            path: format!("{}[{index}]", self.path),
            value: value.clone(),
        };
        Ok(items.iter().enumerate().map(node).collect())
    }

    /// The entries of an object, in the order in which they were written; none if it is null.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let quotas = Node::parse("ipam.quotas", r#"{"shop": 20, "default": "x"}"#)?.entries()?;
    /// assert_eq!((quotas[0].0.as_str(), quotas[0].1.count()?), ("shop", 20));
    /// assert_eq!(quotas[1].1.count().unwrap_err().path, "ipam.quotas.default");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If this is not an object.
    pub fn entries(&self) -> Result<Vec<(String, Self)>, ConfigError> {
        let entries = match &self.value {
            Json::Null => return Ok(Vec::new()),
            Json::Object(entries) => entries,
            _ => return Err(self.wrong("must be an object")),
        };
        let node = |(key, value): &(String, Json)| {
            (key.clone(), Self { path: format!("{}.{key}", self.path), value: value.clone() })
        };
        Ok(entries.iter().map(node).collect())
    }

    /// The value at a path, such as `zones.blue` or `ranges[0]`; `None` if any part of it is absent or null. The path may also be a
    /// whole one as errors print it, which begins with this value's own: `ipam.zones.blue`.
    ///
    /// [`get`](Self::get) reads the same key, but its key is not a path: it may contain dots.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let ipam = Node::parse("ipam", r#"{"zones": {"blue": ["10.1.2.0/24"]}}"#)?;
    /// let subnet = ipam.find("zones.blue[0]")?.map(|subnet| subnet.subnet()).transpose()?;
    /// assert_eq!(subnet.map(|subnet| subnet.to_string()).as_deref(), Some("10.1.2.0/24"));
    /// assert!(ipam.find("ipam.zones.blue[0]")?.is_some() && ipam.find("zones.red[0]")?.is_none());
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If the path is malformed, or leads through something that is neither an object nor a list.
    pub fn find(&self, path: &str) -> Result<Option<Self>, ConfigError> {
        let no_path = || ConfigError::new(path, format!("not a path such as {}.ranges[0]", self.path));
        let whole = path.strip_prefix(self.path.as_str());
        let whole = whole.filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let relative = if path.starts_with('[') { path.to_owned() } else { format!(".{path}") };
        let mut rest = whole.unwrap_or(&relative);
        // What lies beside the path is not copied: a policy finds dozens of settings in each call.
        let (mut at, mut found) = (self.path.clone(), Some(&self.value));
        while let (Some(value), false) = (found, rest.is_empty()) {
            let wrong = |why| ConfigError::new(at.as_str(), why);
            let (step, behind);
            (step, behind, found) = if let Some(index) = rest.strip_prefix('[') {
                let (index, behind) = index.split_once(']').ok_or_else(no_path)?;
                let items = items(value).map_err(wrong)?;
                let number: usize = index.parse().map_err(|_| no_path())?;
                (format!("[{index}]"), behind, items.get(number))
            } else {
                let key = rest.strip_prefix('.').ok_or_else(no_path)?;
                let (key, behind) = key.split_at(key.find(['.', '[']).unwrap_or(key.len()));
                if key.is_empty() {
                    return Err(no_path());
                }
                (format!(".{key}"), behind, entry(value, key).map_err(wrong)?)
            };
            at.push_str(&step);
            rest = behind;
        }
        Ok(found.map(|value| Self { path: at, value: value.clone() }))
    }

    /// A non-negative integer.
    ///
    /// # Errors
    /// If this is not such a number.
    pub fn count(&self) -> Result<u32, ConfigError> {
        match self.value {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the guard has checked it"
            )]
            Json::Number(number)
                if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) =>
            {
                Ok(number as u32)
            }
            _ => Err(self.wrong("must be a non-negative integer")),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// If this is not a string.
    pub fn text(&self) -> Result<&str, ConfigError> {
        match &self.value {
            Json::Text(text) => Ok(text),
            _ => Err(self.wrong("must be a string")),
        }
    }

    /// An address; `None` for an empty string. An IPv4-mapped address is read as IPv4.
    ///
    /// # Errors
    /// If this is not an address.
    pub fn address(&self) -> Result<Option<IpAddr>, ConfigError> {
        match self.text()? {
            "" => Ok(None),
            text => match text.parse::<IpAddr>() {
                Ok(address) => Ok(Some(address.to_canonical())),
                Err(_) => Err(self.wrong(format!("invalid IP address: {text}"))),
            },
        }
    }

    /// A subnet.
    ///
    /// # Errors
    /// If this is not a subnet.
    pub fn subnet(&self) -> Result<Subnet, ConfigError> {
        let text = self.text()?;
        text.parse().map_err(|_| self.wrong(format!("invalid CIDR address: {text}")))
    }

    /// An error at this value's path.
    ///
    /// ```
    /// # use tenure_sdk_config::Node;
    /// let quota = Node::parse("ipam.quota", "0")?;
    /// assert_eq!(quota.wrong("must not be 0").to_string(), "ipam.quota: must not be 0");
    /// # Ok::<(), tenure_sdk_config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn wrong(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.path.clone(), message)
    }
}

/// The value of an object's key, or why there is none to look for.
fn entry<'a>(value: &'a Json, key: &str) -> Result<Option<&'a Json>, &'static str> {
    let Json::Object(entries) = value else { return Err("must be an object") };
    let found = entries.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(key));
    Ok(found.map(|(_, value)| value).filter(|value| **value != Json::Null))
}

/// The items of a list, or why there are none.
fn items(value: &Json) -> Result<&[Json], &'static str> {
    match value {
        Json::Null => Ok(&[]),
        Json::List(items) => Ok(items),
        _ => Err("must be a list"),
    }
}
