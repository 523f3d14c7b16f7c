//! A delegate that is a script, and misbehaves as it is told. Like host-local, it refuses to give an attachment something twice.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// The script, in a directory of its own with its state.
pub(crate) struct Script {
    directory: TempDir,
}

const TEXT: &str = r#"#!/bin/sh
if [ "$CNI_COMMAND" = VERSION ]; then echo '{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}'; exit; fi
cd DIRECTORY || exit 1
mode=$(cat mode)
given=given/$CNI_CONTAINERID
wait_for_it() { touch waits; until [ -e go ]; do sleep 0.05; done; waited=yes; echo goes on >&2; }
case $CNI_COMMAND in
DEL) rm -f "$given"; exit 0 ;;
ADD) ;;
*) exit 0 ;;
esac
[ "$mode" = waits-before ] && wait_for_it
if [ -e "$given" ]; then echo '{"code":101,"msg":"duplicate"}'; exit 1; fi
number=$(cat next); echo $((number + 1)) > next
echo "10.92.0.$number" > "$given"
case $mode in
garbage) echo nonsense; exit 0 ;;
nothing) exit 0 ;;
error) echo '{"code":101,"msg":"none left"}'; exit 0 ;;
later) echo '{"code":11,"msg":"not now"}'; exit 1 ;;
endless) head -c 100000000 /dev/zero; exit 0 ;;
dies) kill -9 $$ ;;
hang) sleep 600 ;;
leaves) setsid sh -c 'echo $$ > left; exec sleep 600' & until [ -s left ]; do :; done ;;
waits) wait_for_it ;;
second-fails) [ "$(ls given | wc -l)" = 2 ] && { echo '{"code":101,"msg":"only one"}'; exit 1; } ;;
esac
echo "{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"10.92.0.$number/24\",\"gateway\":\"10.92.0.1\"}]}"
[ -z "$waited" ] || touch done
"#;

impl Script {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join("given"))?;
        fs::write(directory.path().join("next"), "2")?;
        fs::write(directory.path().join("mode"), "")?;
        let path = directory.path().join("foreign-ipam");
        fs::write(&path, TEXT.replace("DIRECTORY", &directory.path().display().to_string()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Self { directory })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn path(&self) -> String {
        self.at("foreign-ipam").display().to_string()
    }

    /// Sets how its next calls misbehave; empty: not at all.
    pub(crate) fn mode(&self, mode: &str) -> anyhow::Result<()> {
        if !mode.is_empty() {
            // They may not exist.
            let _ = fs::remove_file(self.at("waits"));
            let _ = fs::remove_file(self.at("go"));
            let _ = fs::remove_file(self.at("done"));
        }
        fs::write(self.at("new"), mode)?;
        Ok(fs::rename(self.at("new"), self.at("mode"))?)
    }

    /// Whether a call waits.
    pub(crate) fn waits(&self) -> bool {
        self.at("waits").exists()
    }

    /// Whether a call that has waited has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.at("done").exists()
    }

    /// Lets a call that waits go on.
    pub(crate) fn go(&self) -> anyhow::Result<()> {
        Ok(fs::write(self.at("go"), "")?)
    }

    /// The containers that it has given something to.
    pub(crate) fn given(&self) -> anyhow::Result<Vec<String>> {
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let entries: Result<Vec<_>, _> =
            fs::read_dir(self.at("given"))?.map(|entry| entry.map(name)).collect();
        Ok(entries?)
    }

    /// Ends what it has left behind.
    pub(crate) fn end_left(&self) -> anyhow::Result<()> {
        let pid = fs::read_to_string(self.at("left"))?;
        Command::new("kill").arg("-9").arg(pid.trim()).status()?;
        Ok(())
    }

    /// Takes it away, or puts it back.
    pub(crate) fn hide(&self, hidden: bool) -> anyhow::Result<()> {
        let (shown, away) = (self.at("foreign-ipam"), self.at("hidden"));
        let (from, to) = if hidden { (shown, away) } else { (away, shown) };
        Ok(fs::rename(from, to)?)
    }
}
