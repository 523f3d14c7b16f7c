//! The configuration: `ipam.pools`, `ipam.families` and `ipam.gateway`.

use tenure_sdk::{Config, ConfigError, Node};

/// The address families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// The gateway that is handed out with the addresses of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockGateway {
    /// The first address after the block's network address, which nobody gets; addresses have the block's prefix length.
    #[default]
    First,
    /// None; addresses have the longest prefix length, and are routed one by one.
    None,
}

/// The settings of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeSettings {
    /// Names of the cluster's pools, in the order of use.
    pub pools: Vec<String>,
    /// The families, of each of which an allocation has an address.
    pub families: Vec<AddressFamily>,
    /// The gateway.
    pub gateway: BlockGateway,
}

impl AddressFamily {
    /// The family of a pool, by its name.
    #[must_use]
    pub fn of(pool: &str) -> Option<Self> {
        [Self::Ipv4, Self::Ipv6].into_iter().find(|family| pool.ends_with(family.suffix()))
    }

    /// The name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }

    /// The end of the names of its pools.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Ipv4 => ".v4",
            Self::Ipv6 => ".v6",
        }
    }
}

impl BlockGateway {
    /// The name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::None => "none",
        }
    }
}

impl RangeSettings {
    /// Reads a configuration.
    ///
    /// # Errors
    /// With the path of the wrong key.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let root = config.root()?;
        let pools = root
            .get("pools")?
            .ok_or_else(|| ConfigError::new("ipam.pools", "is missing: name an AddressPool"))?;
        let (pools, families) = (pool_names(&pools)?, families(root.get("families")?)?);
        let gateway = match root.get("gateway")? {
            None => BlockGateway::default(),
            Some(node) => match node.text()? {
                "first" => BlockGateway::First,
                "none" => BlockGateway::None,
                _ => return Err(node.wrong("must be \"first\" or \"none\"")),
            },
        };
        Ok(Self { pools, families, gateway })
    }

    /// The pools of the network, each with its family, those of one family in the order of use.
    pub fn pool_names(&self) -> impl Iterator<Item = (AddressFamily, String)> + '_ {
        self.families
            .iter()
            .flat_map(|family| self.pools.iter().map(|pool| (*family, format!("{pool}{}", family.suffix()))))
    }
}

fn pool_names(node: &Node) -> Result<Vec<String>, ConfigError> {
    let mut names: Vec<String> = Vec::new();
    for item in node.items()? {
        let name = item.text()?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte));
        if name.is_empty() || name.len() > 60 || !is_name {
            return Err(item.wrong("must be the name of an AddressPool, at most 60 characters"));
        }
        if names.iter().any(|known| known == name) {
            return Err(item.wrong("is named twice"));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        return Err(node.wrong("must name at least one AddressPool"));
    }
    Ok(names)
}

fn families(node: Option<Node>) -> Result<Vec<AddressFamily>, ConfigError> {
    let Some(node) = node else { return Ok(vec![AddressFamily::Ipv4]) };
    let mut families = Vec::new();
    for item in node.items()? {
        let family = match item.text()? {
            "ipv4" => AddressFamily::Ipv4,
            "ipv6" => AddressFamily::Ipv6,
            _ => return Err(item.wrong("must be \"ipv4\" or \"ipv6\"")),
        };
        if families.contains(&family) {
            return Err(item.wrong("is named twice"));
        }
        families.push(family);
    }
    if families.is_empty() {
        return Err(node.wrong("must name at least one family"));
    }
    Ok(families)
}
