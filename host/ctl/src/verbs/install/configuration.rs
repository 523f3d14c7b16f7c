//! The network's configuration as it is given, before anything is asked about its place.

use std::io;
use std::path::Path;

use tenure_types::{Error, ErrorCode};

use super::place;
use crate::verbs::conflist::{self, CniConfiguration};

/// Reads the text of a configuration list that uses tenure.
///
/// # Errors
/// `InvalidConfig` if it is another one, and `InputOutput` if it cannot be read.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Error> {
    let invalid = |why: &str| Error::new(ErrorCode::InvalidConfig, format_args!("{}: {why}", file.display()));
    let text = conflist::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let cause = format_args!("{} does not exist; what is installed stays as it is", file.display());
            Error::new(ErrorCode::InputOutput, cause)
        }
        _ => place::failed(file, &error),
    })?;
    let parsed = CniConfiguration::parse(&text).map_err(|why| invalid(&why))?;
    if !parsed.is_list {
        let error = invalid("it has no list of `plugins`, which a .conflist needs");
        return Err(error.to_be_solved_by(
            "wrap it in a list: {\"cniVersion\": ..., \"name\": ..., \"plugins\": [{\"type\": ...}]}",
        ));
    }
    // The plugin may be installed under host-local's name, too.
    if !parsed.uses_tenure(true) {
        return Err(invalid("no plugin uses tenure"));
    }
    Ok(text)
}
