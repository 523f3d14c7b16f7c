//! The child that speaks to the registry: it limits itself, fetches one thing, and writes it to standard output.
//!
//! A registry is a stranger, and the client library reads a manifest or an error of any length into memory. In a child
//! without rights and with little memory, that ends the child and nothing else.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use futures_util::TryStreamExt;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
};
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, client};
use rustix::process::{Resource, Rlimit, setrlimit};
use tenure_policy::confine::{SystemCalls, close_inherited, drop_rights, filter};
use tenure_types::ErrorCode;

use super::order::{Auth, LastWords, Order, What};

/// The argument that marks a child.
pub(super) const ARGUMENT: &str = "--fetch-from-registry";

/// The child's limit on memory, in bytes: its threads' stacks, the certificates, and a manifest.
const MEMORY: u64 = 192 << 20;

/// The most descriptors: its pipes, connections, and the files of certificates and of name resolution.
const FILES: u64 = 64;

/// System calls that fetching never needs. A list of those that it needs would have to name all that a C library uses to resolve a name.
const NEVER: &[libc::c_long] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_kill,
    libc::SYS_listen,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_tkill,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// The most bytes of an order.
const ORDER: u64 = 1 << 20;

/// The longest cause, in bytes.
const LONGEST_CAUSE: usize = 1024;

/// Media types of manifests; an index is requested so that it can be refused in words.
const MANIFESTS: &[&str] = &[
    OCI_IMAGE_MEDIA_TYPE,
    IMAGE_MANIFEST_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
];

/// Fetches if this process was started for it, and returns its exit code.
pub(crate) fn maybe_run_child() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != ARGUMENT {
        return None;
    }
    Some(match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, mut cause)) => {
            cause.truncate(cause.floor_char_boundary(LONGEST_CAUSE));
            let words = LastWords { code: code.name().to_owned(), cause };
            // The parent may be gone.
            let _ = serde_json::to_writer(io::stderr().lock(), &words);
            ExitCode::FAILURE
        }
    })
}

type Failure = (ErrorCode, String);

fn serve() -> Result<(), Failure> {
    let internal = |error: &dyn std::fmt::Display| (ErrorCode::Internal, error.to_string());
    confine().map_err(|error| internal(&error))?;
    let mut order = Vec::new();
    io::stdin().lock().take(ORDER).read_to_end(&mut order).map_err(|error| internal(&error))?;
    let order: Order = serde_json::from_slice(&order).map_err(|error| internal(&error))?;
    // An error means that there is a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| internal(&error))?.block_on(fetch(&order)).map_err(|error| told(&error))
}

fn confine() -> io::Result<()> {
    close_inherited()?;
    drop_rights()?;
    let limits =
        [(Resource::Data, MEMORY), (Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, FILES)];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    filter(SystemCalls::AllBut(NEVER))
}

async fn fetch(order: &Order) -> Result<(), OciDistributionError> {
    let protocol = if order.plain_http { ClientProtocol::Http } else { ClientProtocol::Https };
    let config = ClientConfig {
        protocol,
        connect_timeout: Some(Duration::from_secs(order.connect_seconds)),
        user_agent: concat!("tenurectl/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    };
    let client = client::Client::try_from(config)?;
    let reference: Reference =
        order.reference.parse().map_err(|_| OciDistributionError::UrlParseError(order.reference.clone()))?;
    let auth = match &order.auth {
        Auth::Anonymous => RegistryAuth::Anonymous,
        Auth::Basic(user, password) => RegistryAuth::Basic(user.clone(), password.clone()),
    };
    match &order.what {
        What::Manifest => {
            let (bytes, _) = client.pull_manifest_raw(&reference, &auth, MANIFESTS).await?;
            Ok(io::stdout().lock().write_all(&bytes)?)
        }
        What::Blob(digest) => blob(&client, &reference, &auth, digest).await,
    }
}

async fn blob(
    client: &Client,
    reference: &Reference,
    auth: &RegistryAuth,
    digest: &str,
) -> Result<(), OciDistributionError> {
    client.store_auth_if_needed(reference.resolve_registry(), auth).await;
    let mut blob = client.pull_blob_stream(reference, digest).await?;
    while let Some(piece) = blob.try_next().await? {
        io::stdout().lock().write_all(&piece)?;
    }
    Ok(io::stdout().lock().flush()?)
}

/// Interprets an error, and returns its text with all of its causes.
fn told(error: &OciDistributionError) -> Failure {
    use OciDistributionError as Oci;
    const NOT_FOUND: &str =
        "the registry does not have it; the digest of a reference is the manifest's, not the component's";
    const DENIED: &str = "the registry denies access; `docker login` or `podman login --authfile ~/.docker/config.json` stores credentials";
    match error {
        Oci::UnauthorizedError { .. }
        | Oci::AuthenticationFailure(_)
        | Oci::ServerError { code: 401 | 403, .. } => (ErrorCode::RegistryRefused, DENIED.into()),
        Oci::ImageManifestNotFoundError(_) | Oci::ServerError { code: 404, .. } => {
            (ErrorCode::RegistryRefused, NOT_FOUND.into())
        }
        Oci::RegistryError { envelope, .. } => {
            use OciErrorCode as Code;
            let has = |codes: &[Code]| envelope.errors.iter().any(|error| codes.contains(&error.code));
            let cause = match () {
                () if has(&[Code::Unauthorized, Code::Denied]) => DENIED.into(),
                () if has(&[Code::ManifestUnknown, Code::NameUnknown, Code::BlobUnknown, Code::NotFound]) => {
                    NOT_FOUND.into()
                }
                () => error.to_string(),
            };
            (ErrorCode::RegistryRefused, cause)
        }
        // What Debian's registry answers to a manifest's request that names the digest of a component.
        Oci::ServerError { code: 500, message, .. } => {
            let cause = format!(
                "the registry fails; the digest of a reference is the manifest's, not the component's: {message}"
            );
            (ErrorCode::RegistryRefused, cause)
        }
        Oci::ServerError { .. } => (ErrorCode::RegistryRefused, error.to_string()),
        Oci::DigestError(_) => (ErrorCode::RegistryMismatch, error.to_string()),
        Oci::IoError(broken) => {
            let code = match broken.get_ref() {
                Some(inner) if inner.is::<DigestError>() => ErrorCode::RegistryMismatch,
                _ => ErrorCode::RegistryUnreachable,
            };
            (code, chain(broken))
        }
        Oci::RequestError(broken) => (ErrorCode::RegistryUnreachable, chain(broken)),
        other => (ErrorCode::RegistryMismatch, other.to_string()),
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
