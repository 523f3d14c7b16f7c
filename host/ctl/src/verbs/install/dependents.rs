//! The configurations on a node that need the plugin, also those that tenurectl did not write.

use std::path::{Path, PathBuf};

use tenure_types::Error;

use super::{links, place};
use crate::verbs::conflist::{self, HOST_LOCAL};

/// The configurations in a directory that use a plugin, but for one of them. A file that no runtime could use needs none.
///
/// # Errors
/// `InputOutput` if the directory cannot be read.
pub(super) fn of(plugin: &Path, directory: &Path, but: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    let is_linked =
        links::to(plugin).iter().any(|link| link.file_name().is_some_and(|name| name == HOST_LOCAL));
    let listed = conflist::listed(directory).map_err(|error| place::failed(directory, &error))?;
    let needing =
        listed.into_iter().filter(|(_, read)| read.as_ref().is_ok_and(|read| read.uses_tenure(is_linked)));
    let paths = needing.map(|(name, _)| directory.join(name));
    Ok(paths.filter(|path| Some(path.as_path()) != but).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_configuration_needs_the_plugin_by_each_of_its_names() {
        let directory = tempfile::tempdir().unwrap();
        let (plugin, at) = (directory.path().join("bin/tenure"), |name: &str| directory.path().join(name));
        fs::create_dir(at("bin")).unwrap();
        fs::write(&plugin, "").unwrap();
        let write = |name: &str, kind: &str, ipam: &str| {
            let list = format!(
                r#"{{"name": "n", "plugins": [{{"type": "{kind}", "ipam": {{"type": "{ipam}"}}}}]}}"#
            );
            fs::write(at(name), list).unwrap();
        };
        write("a.conflist", "bridge", "tenure");
        write("b.conflist", "tenure-eni", "");
        write("c.conflist", "bridge", "host-local");
        fs::write(at("d.conflist"), "{").unwrap();
        let found = |but: Option<&str>| {
            let paths = of(&plugin, directory.path(), but.map(at).as_deref()).unwrap();
            paths
                .iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(None), ["a.conflist", "b.conflist"]);
        assert_eq!(found(Some("a.conflist")), ["b.conflist"]);
        symlink("tenure", at("bin/host-local")).unwrap();
        assert_eq!(found(None), ["a.conflist", "b.conflist", "c.conflist"]);
        assert!(of(&plugin, &at("none"), None).unwrap().is_empty());
    }
}
