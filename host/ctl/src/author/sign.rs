//! `policy sign`: a signature in minisign's format, which a node checks before it loads a component.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign::{PublicKey, SecretKey, SecretKeyBox, SignatureBox};
use serde::Serialize;
use tenure_policy::{SignedRelease, sha256};
use tenure_types::{Error, ErrorCode};

use super::sandboxed::read;
use crate::render::{Page, Shown};

/// The size of the checksum at the end of a secret key, in bytes.
const CHECKSUM: usize = 32;

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
    let unusable = |error: String| {
        Error::new(ErrorCode::BuildFailed, format_args!("the secret key {}: {error}", key.display()))
    };
    let password = password.map(text).transpose()?;
    let first = password.map(|text| text.lines().next().unwrap_or_default().to_owned());
    let secret = secret_key(&text(key)?, first).map_err(unusable)?;
    let digest = sha256(&bytes);
    let trusted = release.comment(&digest);
    let (public, signature) =
        signed(&secret, &bytes, &trusted).map_err(|error| unusable(error.to_string()))?;
    let path = file.with_added_extension("minisig");
    fs::write(&path, signature.into_string())
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display())))?;
    Ok(Signed { signature: path, public_key: public.to_base64(), sha256: digest })
}

/// Reads a secret key. One with a password is decrypted with `password`, which minisign otherwise asks for on the terminal.
///
/// minisign 0.11 and earlier write a key without a password also without a checksum, which is all zeros then.
fn secret_key(text: &str, password: Option<String>) -> Result<SecretKey, String> {
    let line = text.lines().nth(1).ok_or("not a key of minisign: it has no second line")?;
    let bytes = STANDARD.decode(line.trim()).map_err(|error| format!("not a key of minisign: {error}"))?;
    let key = SecretKey::from_bytes(&bytes).map_err(|error| error.to_string())?;
    let boxed = SecretKeyBox::from_string(text).map_err(|error| error.to_string())?;
    if key.is_encrypted() {
        return boxed.into_secret_key(password).map_err(|error| error.to_string());
    }
    let has_checksum = bytes.iter().rev().take(CHECKSUM).any(|byte| *byte != 0);
    if has_checksum {
        boxed.into_unencrypted_secret_key().map_err(|error| error.to_string())
    } else {
        Ok(key)
    }
}

/// Signs, and checks the signature: a damaged key without a checksum is not noticed otherwise.
fn signed(
    secret: &SecretKey,
    bytes: &[u8],
    comment: &str,
) -> Result<(PublicKey, SignatureBox), minisign::PError> {
    let public = PublicKey::from_secret_key(secret)?;
    let signature = minisign::sign(Some(&public), secret, Cursor::new(bytes), Some(comment), None)?;
    minisign::verify(&public, &signature, Cursor::new(bytes), true, false, false)?;
    Ok((public, signature))
}

fn text(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use minisign::KeyPair;
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

    /// A key of `minisign -G -W`, version 0.11 of Debian 12.
    const OF_DEBIAN: &str = "untrusted comment: minisign encrypted secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAciA0FTsqPC4FWnYjrmig/uFjWawwOs3IK8l9DdJFnZJ0Qao86qIe0DaWFjO/veicYKGDkkim3e55bmH/94ppa/r/nmfNLoPRAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
";

    #[test]
    fn a_key_without_a_password_needs_no_checksum_and_a_damaged_one_is_told() {
        let key = secret_key(OF_DEBIAN, None).unwrap();
        let (public, _) = signed(&key, b"a component", "for zones").unwrap();
        assert_eq!(public.to_base64(), "RWRyIDQVOyo8LjaWFjO/veicYKGDkkim3e55bmH/94ppa/r/nmfNLoPR");
        // One bit of the key's public half: its signatures are good for nobody.
        let damaged = secret_key(&OF_DEBIAN.replace("NLoPRAAA", "NLoPQAAA"), None).unwrap();
        assert!(signed(&damaged, b"a component", "for zones").is_err());
        // With a checksum, the key itself says so, and no password is asked for.
        let why = |text: &str| secret_key(text, None).unwrap_err();
        assert!(why(&OF_DEBIAN.replace("AAA=", "AAE=")).contains("Corrupted key"));
        assert!(why("untrusted comment: minisign").contains("no second line"));
        assert!(why("untrusted comment: minisign\n?").contains("not a key of minisign"));
    }
}
