//! `policy sign`: a signature in minisign's format, which a node checks before it loads a component.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use minisign::{PublicKey, SecretKey, SecretKeyBox};
use serde::Serialize;
use tenure_policy::{SignedRelease, sha256};
use tenure_types::{Error, ErrorCode};

use super::sandboxed::read;
use crate::render::{Page, Shown};

/// A component that was signed.
#[derive(Serialize)]
pub(crate) struct Signed {
    /// The signature's file.
    pub(crate) signature: PathBuf,
    /// Public key that a node needs to check the signature.
    pub(crate) public_key: String,
    /// The component's digest, which the signature's comment names.
    pub(crate) sha256: String,
}

impl Shown for Signed {
    fn page(&self, _: u64) -> Page {
        format!("{}: sha256 {}\npublic key: {}\n", self.signature.display(), self.sha256, self.public_key)
            .into()
    }
}

/// Signs a file as a release with a secret key, and writes `FILE.minisig`.
///
/// The key's password, if it has one, is the first line of `password`, or is asked for on the terminal.
pub(super) fn sign(
    file: &Path,
    release: &SignedRelease,
    key: &Path,
    password: Option<&Path>,
) -> Result<Signed, Error> {
    let bytes = read(file)?;
    let unusable = |error: &minisign::PError| {
        Error::new(ErrorCode::BuildFailed, format_args!("the secret key {}: {error}", key.display()))
    };
    let key_text = text(key)?;
    let boxed = || SecretKeyBox::from_string(&key_text).map_err(|error| unusable(&error));
    let secret = match boxed()?.into_unencrypted_secret_key() {
        Ok(secret) => secret,
        Err(_) => decrypted(boxed()?, password)?.map_err(|error| unusable(&error))?,
    };
    let public = PublicKey::from_secret_key(&secret).map_err(|error| unusable(&error))?;
    let digest = sha256(&bytes);
    let trusted = release.comment(&digest);
    let signature = minisign::sign(Some(&public), &secret, Cursor::new(&bytes), Some(&trusted), None)
        .map_err(|error| unusable(&error))?;
    let path = file.with_added_extension("minisig");
    fs::write(&path, signature.into_string())
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display())))?;
    Ok(Signed { signature: path, public_key: public.to_base64(), sha256: digest })
}

/// Decrypts a key. Without a password's file, minisign asks for the password on the terminal.
fn decrypted(
    boxed: SecretKeyBox,
    password: Option<&Path>,
) -> Result<Result<SecretKey, minisign::PError>, Error> {
    let password = password.map(text).transpose()?;
    let first = password.map(|text| text.lines().next().unwrap_or_default().to_owned());
    Ok(boxed.into_secret_key(first))
}

fn text(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use minisign::{KeyPair, SignatureBox};
    use tenure_types::PolicyName;

    use super::*;

    /// Writes a key, signs with it, and checks the signature as a node would.
    fn signs(key: &KeyPair, password: Option<&str>) -> Result<(), Error> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("policy.wasm"), b"a component").unwrap();
        fs::write(at("key"), key.sk.to_box(None).unwrap().into_string()).unwrap();
        let password = password.map(|password| {
            fs::write(at("password"), format!("{password}\n")).unwrap();
            at("password")
        });
        let release =
            SignedRelease { policy: PolicyName::new("zones").unwrap(), version: "1.2.0".parse().unwrap() };
        let signed = sign(&at("policy.wasm"), &release, &at("key"), password.as_deref())?;
        assert_eq!((signed.signature, signed.public_key), (at("policy.wasm.minisig"), key.pk.to_base64()));
        let signature = SignatureBox::from_file(at("policy.wasm.minisig")).unwrap();
        let check =
            |bytes: &[u8]| minisign::verify(&key.pk, &signature, Cursor::new(bytes), true, false, false);
        check(b"a component").unwrap();
        assert!(check(b"another one").is_err());
        let comment = signature.trusted_comment().unwrap();
        assert!(comment.starts_with("tenure policy zones 1.2.0 sha256:"), "{comment}");
        Ok(())
    }

    #[test]
    fn a_plain_key_and_one_with_a_password_sign() {
        signs(&KeyPair::generate_unencrypted_keypair().unwrap(), None).unwrap();
        let locked = || KeyPair::generate_encrypted_keypair(Some("correct".into())).unwrap();
        signs(&locked(), Some("correct")).unwrap();
        let error = signs(&locked(), Some("wrong")).unwrap_err();
        assert!(error.code == ErrorCode::BuildFailed && error.cause.contains("key"), "{error}");
    }
}
