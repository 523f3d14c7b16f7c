//! The settings of the network that the kernel follows, from the attributes of its definition.
//!
//! The policy `aws-eni` checks them and writes them there; `tenure_aws::Settings` has those that concern EC2.

use ipnet::IpNet;
use tenure_netlink::{NodeSettings, SourcePorts};
use tenure_types::Attributes;

/// The settings for the kernel. `vpc` are the VPC's ranges, which pods reach with their own addresses.
///
/// # Errors
/// The first setting that is wrong.
pub(super) fn settings(definition: &Attributes, vpc: &[IpNet]) -> Result<NodeSettings, String> {
    let usual = NodeSettings::default();
    let wrong = |key: &str, text: &str| format!("the network's setting {key} is {text:?}");
    let flag = |key: &str, usual: bool| match definition.get(key) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| wrong(key, text)),
    };
    let nets = |key: &str| {
        let listed = definition.get(key).unwrap_or_default().split(',').map(str::trim);
        let parsed = listed.filter(|net| !net.is_empty()).map(|net| net.parse().map_err(|_| wrong(key, net)));
        parsed.collect::<Result<Vec<IpNet>, String>>()
    };
    let ports = match definition.get("snat.ports") {
        None | Some("prng") => SourcePorts::FullyRandom,
        Some("hashrandom") => SourcePorts::Random,
        Some("none") => SourcePorts::Kept,
        Some(text) => return Err(wrong("snat.ports", text)),
    };
    let mark = match definition.get("connmark") {
        None => usual.mark,
        Some(text) => {
            let digits = text.strip_prefix("0x").ok_or_else(|| wrong("connmark", text))?;
            u32::from_str_radix(digits, 16).map_err(|_| wrong("connmark", text))?
        }
    };
    let mtu = match definition.get("mtu") {
        None => usual.mtu,
        Some(text) => text.parse().map_err(|_| wrong("mtu", text))?,
    };
    let mut within = vpc.to_vec();
    within.extend(nets("snat.exclude")?);
    Ok(NodeSettings {
        mtu,
        mark,
        node_ports: flag("nodePorts", usual.node_ports)?,
        snat: (!flag("snat.external", false)?).then_some(ports),
        within,
        external: nets("externalServices")?,
        link_prefix: definition.get("vethPrefix").unwrap_or(&usual.link_prefix).to_owned(),
        // A node that moves over from ipamd has its rules for the same pods.
        adopt: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<NodeSettings, String> {
        settings(&Attributes::new(pairs.iter().copied()).unwrap(), &["10.0.0.0/16".parse().unwrap()])
    }

    #[test]
    fn what_is_not_set_is_as_ipamd_has_it() {
        let set = of(&[]).unwrap();
        assert_eq!(set.within, ["10.0.0.0/16".parse().unwrap()]);
        assert_eq!(NodeSettings { within: Vec::new(), adopt: false, ..set }, NodeSettings::default());
    }

    #[test]
    fn each_setting_is_read_as_the_policy_writes_it() {
        let set = of(&[
            ("mtu", "1500"),
            ("connmark", "0x100"),
            ("nodePorts", "false"),
            ("snat.exclude", "10.9.0.0/16,10.8.0.0/16"),
            ("snat.ports", "none"),
            ("externalServices", "192.0.2.0/24"),
            ("vethPrefix", "aws"),
        ]);
        let set = set.unwrap();
        assert_eq!((set.mtu, set.mark, set.node_ports), (1500, 0x100, false));
        assert_eq!(set.within.len(), 3);
        assert_eq!((set.snat, set.external.len()), (Some(SourcePorts::Kept), 1));
        assert_eq!(set.link_prefix, "aws");
        assert_eq!(of(&[("snat.external", "true"), ("snat.ports", "hashrandom")]).unwrap().snat, None);
    }

    #[test]
    fn a_wrong_setting_is_named() {
        for (key, text) in [
            ("mtu", "big"),
            ("connmark", "128"),
            ("nodePorts", "yes"),
            ("snat.exclude", "10.9.0.0"),
            ("snat.ports", "all"),
        ] {
            let named = format!("the network's setting {key} is {text:?}");
            assert_eq!(of(&[(key, text)]).unwrap_err(), named);
        }
    }
}
