//! How the plugin checks a call before it calls the daemon: the reference implementation's table.

use std::path::Path;

use crate::support::{Daemon, Plugin, Printed, Reply};

const NOWHERE: &str = "/no/such/directory/cni.sock";

fn plugin(command: &str) -> Plugin {
    Plugin::new(command, Path::new(NOWHERE))
}

#[test]
fn started_by_hand_it_says_what_it_is() {
    let Printed { stdout, stderr, code } = plugin("").run();
    assert_eq!((stdout.as_str(), code), ("", Some(0)));
    assert!(stderr.contains("CNI protocol versions supported: 0.1.0, "), "{stderr}");
}

#[test]
fn versions_need_neither_input_nor_daemon() {
    let expected = r#"{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}"#;
    let bare = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"]
        .into_iter()
        .fold(plugin("VERSION").config("not json"), |plugin, name| plugin.variable(name, ""));
    assert_eq!(bare.succeed().trim_end(), expected);
}

#[test]
fn calls_are_checked_in_the_reference_order() {
    let config = |text: &str| plugin("ADD").config(text);
    let cases = [
        // The order: names, missing variables, JSON, the network's name, the command, the version.
        (
            config("x").variable("CNI_CONTAINERID", "a/b").variable("CNI_PATH", ""),
            4,
            "invalid characters in containerID: a/b",
        ),
        (
            config("x").variable("CNI_PATH", "").variable("CNI_NETNS", ""),
            4,
            "required env variables [CNI_NETNS,CNI_PATH] missing",
        ),
        (config("{"), 6, "error unmarshall network config: EOF while parsing an object at line 1 column 1"),
        (config(r#"{"cniVersion":"9.9.9"}"#), 7, "missing network name"),
        (plugin("FOO").config("{}"), 7, "missing network name"),
        (plugin("FOO").config(r#"{"cniVersion":"9.9.9","name":"net"}"#), 4, "unknown CNI_COMMAND: FOO"),
        (
            config(r#"{"cniVersion":"9.9.9","name":"net"}"#).variable("CNI_NETNS", "/proc/self/ns/net"),
            1,
            "incompatible CNI versions",
        ),
        (
            plugin("GC").config(r#"{"cniVersion":"9.9.9","name":"net"}"#),
            1,
            "plugin version does not allow GC",
        ),
        (
            plugin("STATUS").config(r#"{"cniVersion":"1.0.0","name":"net"}"#),
            1,
            "config version does not allow STATUS",
        ),
        (plugin("CHECK").config(r#"{"name":"net"}"#), 1, "config version does not allow CHECK"),
        (plugin("GC").variable("CNI_PATH", ""), 4, "required env variables [CNI_PATH] missing"),
        (config(r#"{"name":"net"}"#), 7, "IPAM config missing 'ipam' key"),
    ];
    for (plugin, code, message) in cases {
        let (found, text, _) = plugin.fail();
        assert_eq!((found, text.as_str()), (code, message));
    }
}

#[test]
fn an_error_is_told_in_the_configurations_version() {
    let (_, _, version) = plugin("ADD").config(r#"{"cniVersion":"0.3.1","name":"net","ipam":{}}"#).fail();
    assert_eq!(version, "0.3.1");
    let (_, _, version) = plugin("ADD").config("{").fail();
    assert_eq!(version, "1.1.0");
}

#[test]
fn the_hosts_own_namespace_is_refused_before_any_work() {
    let daemon = Daemon::new(Reply::Output("{}"));
    let add = |command| Plugin::new(command, &daemon.socket()).variable("CNI_NETNS", "/proc/self/ns/net");
    for command in ["ADD", "CHECK"] {
        let (code, message, _) = add(command).fail();
        assert_eq!(
            (code, message.as_str()),
            (8, "plugin's netns and netns from CNI_NETNS should not be the same")
        );
    }
    assert_eq!(daemon.calls(), []);

    for value in ["1", "TRUE"] {
        assert_eq!(add("ADD").variable("CNI_NETNS_OVERRIDE", value).succeed(), "{}");
    }
    // The path may lead to the host's namespace by now; a DEL must still free the address.
    add("DEL").succeed();
    assert_eq!(daemon.calls().len(), 3);
}
