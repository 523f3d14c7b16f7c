//! The first-party policies, embedded in the program.

use std::sync::LazyLock;

use tenure_types::PolicyStamp;

use crate::digest::sha256;

/// The rules of the reference host-local plugin; the default of a network that names no policy.
pub const HOST_LOCAL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.wasm"));

/// Assigns the highest free address first.
pub const HIGHEST_FIRST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/highest-first.wasm"));

/// Chooses, assigns and releases addresses of AWS network interfaces. Only in the catalogue of a daemon that is given it.
#[cfg(feature = "aws")]
pub const AWS_ENI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/aws-eni.wasm"));

/// Chooses addresses of blocks that a cluster leases, and says when a block is missing or spare. Only in the catalogue of a daemon that is given
/// it.
#[cfg(feature = "cluster")]
pub const CLUSTER_RANGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cluster-range.wasm"));

/// The policies that every daemon has in its catalogue, by name.
pub(crate) const ALL: [(&str, &[u8]); 2] = [("host-local", HOST_LOCAL), ("highest-first", HIGHEST_FIRST)];

/// Whether a digest is that of an embedded policy.
pub(crate) fn has(digest: &str) -> bool {
    static DIGESTS: LazyLock<Vec<String>> =
        LazyLock::new(|| ALL.iter().map(|(_, bytes)| *bytes).chain(given()).map(sha256).collect());
    DIGESTS.iter().any(|embedded| embedded == digest)
}

/// The policies that only some daemons have in their catalogue.
fn given() -> impl Iterator<Item = &'static [u8]> {
    #[cfg(feature = "aws")]
    let aws = Some(AWS_ENI);
    #[cfg(not(feature = "aws"))]
    let aws = None;
    #[cfg(feature = "cluster")]
    let cluster = Some(CLUSTER_RANGE);
    #[cfg(not(feature = "cluster"))]
    let cluster = None;
    [aws, cluster].into_iter().flatten()
}

/// Whether a stamp is the embedded host-local's, under any name in the catalogue.
pub(crate) fn is_host_local(stamp: &PolicyStamp) -> bool {
    static DIGEST: LazyLock<String> = LazyLock::new(|| sha256(HOST_LOCAL));
    *stamp.digest == **DIGEST
}
