//! The CNI plugin as a program: its version, as it says itself.

use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use tenure_rpc::run_dir;

/// The longest that a plugin may take to say its version.
const LIMIT: Duration = Duration::from_secs(5);

/// The pause between two looks at it.
const AGAIN: Duration = Duration::from_millis(5);

/// The text before the version, and the text before older plugins say nothing of it.
const BEFORE_VERSION: &str = "tenure ";
const WITHOUT_VERSION: &str = "tenure, a CNI IPAM plugin";

/// The longest text of which the beginning is read.
const LONGEST: usize = 4096;

/// Runs a plugin as a person would, who is told its version; `None` if it is one of ours that says none.
///
/// It runs only if nobody but root and this user can have written it.
///
/// # Errors
/// In words, if it cannot run here, or is not the plugin.
pub(super) async fn version(plugin: &Path) -> Result<Option<String>, String> {
    let metadata = plugin.metadata().map_err(|error| error.to_string())?;
    if let Some(objection) = run_dir::objection_to(plugin, &metadata) {
        return Err(objection);
    }
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err("it is not an executable file".to_owned());
    }
    let said = said(plugin).await.map_err(|error| format!("it does not run here: {error}"))?;
    let first = said.lines().next().unwrap_or_default();
    if first.starts_with(WITHOUT_VERSION) {
        return Ok(None);
    }
    let version = first.strip_prefix(BEFORE_VERSION).and_then(|rest| rest.split_once(','));
    match version {
        Some((version, _)) => Ok(Some(version.to_owned())),
        None => Err("it runs, but is not the CNI plugin `tenure`".to_owned()),
    }
}

/// Runs a plugin without a CNI command, and returns the text on its standard error.
async fn said(plugin: &Path) -> io::Result<String> {
    let deadline = tokio::time::Instant::now() + LIMIT;
    let mut child = loop {
        let mut command = Command::new(plugin);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        match command.spawn() {
            // Somebody still writes it, or has passed the descriptor on to a child that is about to run its own program.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
            spawned => break spawned?,
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(io::ErrorKind::ExecutableFileBusy.into());
        }
        tokio::time::sleep(AGAIN).await;
    };
    let ended = ended(&mut child, deadline).await;
    if ended.is_err() {
        // It may have ended meanwhile; either is fine.
        let _ = child.kill();
        let _ = child.wait();
    }
    ended?;
    let mut text = vec![0; LONGEST];
    let Some(mut stderr) = child.stderr.take() else { return Ok(String::new()) };
    // A child of a strange program may keep the pipe open for ever.
    fcntl_setfl(&stderr, OFlags::NONBLOCK)?;
    let length = match stderr.read(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        length => length?,
    };
    text.truncate(length);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Waits until a child ends.
async fn ended(child: &mut Child, deadline: tokio::time::Instant) -> io::Result<()> {
    while child.try_wait()?.is_none() {
        if tokio::time::Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not end"));
        }
        tokio::time::sleep(AGAIN).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_plugin_says_its_version_and_anything_else_says_why_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str, mode| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let new = file("new", "#!/bin/sh\necho 'tenure 1.2.3, a CNI IPAM plugin; it' >&2\n", 0o755);
        assert_eq!(version(&new).await, Ok(Some("1.2.3".to_owned())));
        let old = file("old", "#!/bin/sh\necho 'tenure, a CNI IPAM plugin; it' >&2\n", 0o755);
        assert_eq!(version(&old).await, Ok(None));
        for (path, why) in [
            (file("other", "#!/bin/sh\necho hello >&2\n", 0o755), "is not the CNI plugin"),
            (file("half", "\u{7f}ELF", 0o755), "does not run here"),
            (file("text", "#!/bin/sh\n", 0o644), "not an executable file"),
            (file("open", "#!/bin/sh\n", 0o777), "any user can write to it"),
            (directory.path().join("none"), "No such file"),
        ] {
            let error = version(&path).await.unwrap_err();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
    }
}
