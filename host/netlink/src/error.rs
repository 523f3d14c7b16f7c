//! Why something could not be read from the kernel or changed in it.

use std::io;
use std::path::PathBuf;

/// A failure, with what was tried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a request.
    #[error("cannot {what}: {source}")]
    Kernel {
        /// The request to the kernel.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel's answers kept changing while they were read.
    #[error("cannot {0}: it changed each time while it was being read")]
    Unsteady(String),
    /// A file or process failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// `nft` is not installed.
    #[error("cannot run nft: {0}; install the package nftables, which translation and node ports need")]
    NoNft(#[source] io::Error),
    /// `nft` complained.
    #[error("nft failed: {0}")]
    Nft(String),
    /// The source of the desired state is gone.
    #[error("the source of the desired state is gone")]
    Unwanted,
    /// The link does not exist.
    #[error("there is no link {0}")]
    NoLink(String),
    /// A file that is not a network namespace.
    #[error("{0} is not a network namespace")]
    NotNamespace(PathBuf),
    /// A pod's network namespace is the node's own.
    #[error("{0} is the node's own network namespace, not a pod's")]
    OwnNamespace(PathBuf),
    /// A pod's link would need a name that no link can have.
    #[error("{0:?} cannot be a link's name: use 1 to 15 letters, digits, '-', '_' or '.'")]
    Name(String),
    /// A link of the name exists and is something else.
    #[error("link {0} exists and was not made by tenure, so it is not replaced")]
    Taken(String),
    /// A step in a pod's network namespace has not ended.
    #[error("cannot {0}: it has not ended within 10 seconds")]
    TooSlow(String),
    /// An earlier step has hung for longer than it may.
    #[error("an earlier step of link {0} has not ended")]
    Busy(String),
    /// A pod has more of something than is looked at.
    #[error("cannot {what}: there are more than {most}")]
    TooMany {
        /// The request to the kernel.
        what: String,
        /// The most that is looked at.
        most: usize,
    },
}

impl Error {
    /// Whether the process lacks a capability for it: NET_ADMIN, or SYS_ADMIN to enter a namespace. Or netlink itself, which every kernel has,
    /// and which a unit's filter denies like this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        let denied = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
        match self {
            Self::Kernel { source, .. } | Self::Io { source, .. } => {
                source.kind() == io::ErrorKind::PermissionDenied || source.raw_os_error() == Some(denied)
            }
            _ => false,
        }
    }

    /// Whether the kernel answered with this number.
    pub(crate) fn is(&self, number: rustix::io::Errno) -> bool {
        match self {
            Self::Kernel { source, .. } => source.raw_os_error() == Some(number.raw_os_error()),
            _ => false,
        }
    }
}
