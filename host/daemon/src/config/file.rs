//! The configuration's file: the one that `--config` names, or the default one, which need not exist.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::read::ConfigFileError;
use super::{Config, DEFAULT_PATH};

/// The file that a start reads, and each reload again.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    /// Whether it must exist: it was named, or it has been read. The defaults in place of a file that went would undo what an operator has
    /// configured, such as the keys that policies must be signed with.
    is_expected: AtomicBool,
}

impl ConfigFile {
    /// The file with this name; without a name, the default one.
    pub(crate) fn new(named: Option<PathBuf>) -> Self {
        let is_expected = named.is_some().into();
        Self { path: named.unwrap_or_else(|| DEFAULT_PATH.into()), is_expected }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; without the default one, as long as there was none, returns the defaults.
    ///
    /// # Errors
    /// [`ConfigFileError`] names the file, the key and what is wrong with it.
    pub(crate) fn read(&self) -> Result<Config, ConfigFileError> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => {
                let config = Config::parse(&self.path, &text)?;
                self.is_expected.store(true, Ordering::Relaxed);
                Ok(config)
            }
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(ConfigFileError::Unreadable { path: self.path.clone(), source: error })
            }
            Err(_) if self.is_expected.load(Ordering::Relaxed) => {
                Err(ConfigFileError::Missing { path: self.path.clone() })
            }
            Err(_) => Ok(Config::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Regression: a reload put the defaults in force when the default file was gone.
    #[test]
    fn the_default_file_may_be_missing_until_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenured.toml");
        let file = ConfigFile { path: path.clone(), ..ConfigFile::new(None) };
        assert_eq!(file.read().unwrap(), Config::default());
        fs::write(&path, "[limits]\nqueue = 3\n").unwrap();
        assert_eq!(file.read().unwrap().limits.queue, 3);
        fs::remove_file(&path).unwrap();
        let gone = file.read().unwrap_err().to_string();
        assert!(
            gone.ends_with(
                "tenured.toml: the file does not exist; create it: an empty file selects the defaults"
            ),
            "{gone}"
        );
        fs::write(&path, "").unwrap();
        assert_eq!(file.read().unwrap(), Config::default());
    }

    #[test]
    fn a_named_file_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        let read = |path: &Path| ConfigFile::new(Some(path.to_owned())).read().unwrap_err().to_string();
        assert!(read(&folder.path().join("tenured.toml")).contains("the file does not exist"));
        assert!(read(folder.path()).contains("Is a directory"));
    }
}
