//! A registry's credentials: those that `docker login`, `podman login` and `skopeo login --authfile` write.

use std::fs::File;
use std::path::PathBuf;

use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use tenure_types::{Error, ErrorCode};

use super::order::Auth;

/// The environment variable for the folder of docker's configuration.
const FOLDER: &str = "DOCKER_CONFIG";

/// The credentials for a registry; none, if nobody has logged in there.
pub(super) fn of(registry: &str) -> Result<Auth, Error> {
    let Some(path) = path() else { return Ok(Auth::Anonymous) };
    let unusable = |cause: &dyn std::fmt::Display| {
        let cause = format_args!("the credentials for {registry} in {}: {cause}", path.display());
        Error::new(ErrorCode::RegistryRefused, cause)
    };
    let file = match File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Auth::Anonymous),
        other => other.map_err(|error| unusable(&error))?,
    };
    match get_credential_from_reader(file, registry) {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(Auth::Basic(user, password)),
        Ok(DockerCredential::IdentityToken(_)) => Err(unusable(
            &"an identity token, which is not supported; log in with a user name and a password or an access token",
        )),
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(Auth::Anonymous),
        // What a helper of docker says about a registry that it does not know.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. }) if stdout.contains("not found") => {
            Ok(Auth::Anonymous)
        }
        Err(error) => Err(unusable(&error)),
    }
}

/// Docker's configuration file.
fn path() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".docker"));
    let folder = std::env::var_os(FOLDER).map(PathBuf::from).or_else(home)?;
    Some(folder.join("config.json"))
}
