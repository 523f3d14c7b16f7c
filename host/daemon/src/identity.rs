//! Reading who this node is: from the configuration, or else from the machine.

use std::fs;
use std::path::Path;

use tenure_checkpoint::{BootSource, parse_boot_id};
use tenure_types::{BootId, NodeIdentity};

use crate::config::NodeTable;
use crate::fault::Setting;

/// The kernel's file with the id of the running boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The installation's id; see `machine-id(5)`.
const MACHINE_ID: &str = "/etc/machine-id";

/// The places of the machine's id in its firmware, in the order in which a kubelet tries them for the system UUID of its Node; only root can
/// read the first. Where firmware has none, a kubelet takes the installation's id, too.
const SYSTEM_UUID: [&str; 4] = [
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
    MACHINE_ID,
];

/// Reads the node's identity. A name that the command line gives counts before the configuration's.
///
/// # Errors
/// If the id of the running boot cannot be read: without it, nothing says whether a pod of the ledger can still live.
pub(crate) fn read(table: &NodeTable, name: Option<&str>) -> anyhow::Result<NodeIdentity> {
    let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    Ok(NodeIdentity {
        // A variable of the environment may be set to nothing.
        name: name
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .or_else(|| table.name.clone())
            .unwrap_or_else(host),
        boot: boot(table)?,
        machine_id: table.machine_id.clone().or_else(|| line(Path::new(MACHINE_ID))),
        system_uuid: table.system_uuid.clone().or_else(|| system_uuid(Path::new("/"))),
    })
}

/// Reads the id of the running boot.
///
/// # Errors
/// As [`read`].
pub(crate) fn boot(table: &NodeTable) -> anyhow::Result<BootId> {
    let path = boot_file(table);
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let id = text.and_then(|text| parse_boot_id(&text).map_err(str::to_owned));
    id.map_err(|why| {
        let cause = format!("cannot read the boot's id: {}: {why}", path.display());
        Setting { keys: "node.boot_id_file", cause }.into()
    })
}

/// The id of the running boot with its source.
pub(crate) fn boot_source(table: &NodeTable, id: BootId) -> BootSource {
    BootSource::of(id, boot_file(table))
}

fn boot_file(table: &NodeTable) -> &Path {
    table.boot_id_file.as_deref().unwrap_or(Path::new(BOOT_ID))
}

/// The machine's id below a root, as a kubelet reads it.
fn system_uuid(root: &Path) -> Option<String> {
    SYSTEM_UUID.into_iter().find_map(|path| line(&root.join(path.trim_start_matches('/'))))
}

/// The content of a file of one line, if there is any.
fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    // A device tree ends its texts with a zero.
    Some(text.trim_end_matches('\0').trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_id_with_white_space_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("boot-id");
        let table = NodeTable { boot_id_file: Some(path.clone()), ..NodeTable::default() };
        fs::write(&path, "2026-11-28T05:00:12\n").unwrap();
        assert_eq!(boot(&table).unwrap(), BootId("2026-11-28T05:00:12".to_owned()));
        fs::write(&path, "2026-11-28 05:00:12\n").unwrap();
        let refused = boot(&table).unwrap_err().to_string();
        assert!(refused.contains("node.boot_id_file") && refused.contains("white space"), "{refused}");
    }

    #[test]
    fn a_machine_without_firmware_is_known_as_a_kubelet_knows_it() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(system_uuid(root.path()), None);
        for (path, text, expected) in [
            ("etc/machine-id", "installation\n", "installation"),
            ("proc/device-tree/vm,uuid", "partition\0", "partition"),
            ("sys/class/dmi/id/product_uuid", "firmware\n", "firmware"),
        ] {
            write(path, text);
            assert_eq!(system_uuid(root.path()).as_deref(), Some(expected));
        }
    }
}
