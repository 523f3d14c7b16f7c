//! What went wrong, in the one shape that the CNI answer, the log, the metric label and gRPC share.

use std::fmt;

use crate::PolicyFailure;

/// The result of anything that a caller may see fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $cni:literal, $next:literal;)+) => {
        /// Every way in which tenure refuses or fails, each with one stable name.
        ///
        /// The book's error index is generated from this list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the error index.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable name: metric label, log field and gRPC `ErrorInfo.reason`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The CNI error code; 1 to 99 are the specification's, 100 and up are tenure's.
            #[must_use]
            pub fn cni(self) -> u32 {
                match self { $(Self::$variant => $cni,)+ }
            }

            /// What a person can do about it.
            #[must_use]
            pub fn next_step(self) -> &'static str {
                match self { $(Self::$variant => $next,)+ }
            }

            /// What it means, for the error index.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The configuration's cniVersion is not one of 0.1.0 to 1.1.0, or is too old for the command.
    IncompatibleVersion = "incompatible-version", 1,
        "use a cniVersion that `tenure` lists for CNI_COMMAND=VERSION";
    /// A CNI environment variable is missing or malformed.
    InvalidEnvironment = "invalid-environment", 4,
        "this is the runtime's call: check its version and the plugin chain that calls the IPAM plugin";
    /// A file or a descriptor could not be read or written by the shim.
    InputOutput = "input-output", 5, "read the cause: it names what could not be read or written";
    /// The network configuration on standard input is not a JSON object, or its `name` or `cniVersion` is not a string.
    MalformedConfig = "malformed-config", 6, "check the network configuration with a JSON linter";
    /// The network configuration is JSON, but does not say what it must.
    InvalidConfig = "invalid-config", 7, "mend the key that the cause names";
    /// The pod's network namespace is the host's own.
    HostNetns = "host-netns", 8, "the runtime must pass the pod's namespace in CNI_NETNS";
    /// The daemon could not be reached.
    Unreachable = "daemon-unreachable", 11, "is tenured running? try `tenurectl status`; the runtime tries again";
    /// The request did not finish before its deadline, or the caller gave up.
    DeadlineExceeded = "deadline-exceeded", 11, "the runtime tries again; `tenurectl status` shows what the daemon waits for";
    /// More requests are waiting than the daemon queues.
    Overloaded = "overloaded", 11, "the runtime tries again; raise `limits.queue` if this lasts";
    /// A policy keeps breaking its limits on a network, so its calls are refused for a while.
    PolicyBenched = "policy-benched", 11,
        "put another policy in its place with `tenurectl policy activate`; else it is tried again by itself";
    /// The daemon is starting, draining or waiting for what it must know first.
    NotReady = "not-ready", 11, "the runtime tries again; `tenurectl status` says what is awaited";
    /// Nothing is free, but the policy says that more has been asked for.
    NotYet = "not-yet", 11, "the runtime tries again; `tenurectl networks` shows what the network has";
    /// A DEL of the same attachment has overtaken this ADD, or a restarted daemon cannot know that none has.
    Superseded = "superseded", 11, "nothing to do: the runtime has given this attempt up already";
    /// Another IPAM has addresses of the network that were not taken over yet: they could be given out twice.
    NotTakenOver = "not-taken-over", 11,
        "take them over, as the cause says; if nobody uses them, remove their files or set `host_local.ignore`";
    /// STATUS: the node cannot serve an ADD now.
    Unavailable = "unavailable", 50, "read the cause; `tenurectl status` shows more";
    /// No address of a pool is free.
    PoolExhausted = "pool-exhausted", 101, "delete pods or add a range; `tenurectl networks` shows the use";
    /// An address that the caller insists on cannot be had.
    AddressUnavailable = "address-unavailable", 102, "ask for another address; `tenurectl allocation ADDRESS` shows who has it";
    /// CHECK: the attachment owns no address.
    UnknownAttachment = "unknown-attachment", 103, "delete the pod, so that its runtime makes it anew";
    /// The policy refused for a reason of its own.
    PolicyRefused = "policy-refused", 104, "the cause is the policy's own text; its author knows more";
    /// The policy trapped, ran out of time or memory, or answered beyond its limits.
    PolicyFailed = "policy-failed", 105,
        "report it to the policy's author, or raise the limit that the cause names; `tenurectl policy activate` puts another in its place";
    /// The policy proposed what the ledger does not allow; nothing was handed out.
    ProposalRejected = "proposal-rejected", 106, "report it to the policy's author; `tenurectl policy activate` puts another in its place";
    /// No policy of that name is in the catalogue.
    UnknownPolicy = "unknown-policy", 107, "`tenurectl policy list` shows the catalogue; the daemon's configuration names its files";
    /// A policy's file is missing, is not what its sha256 says, or is not a policy.
    PolicyUnloadable = "policy-unloadable", 108, "change what the cause names, and see `tenurectl policy list`; the policy that served before goes on serving";
    /// No network of that name exists on this node.
    UnknownNetwork = "unknown-network", 109, "a network exists from its first ADD on; `tenurectl networks` shows them";
    /// No such address is held on this node.
    UnknownAddress = "unknown-address", 110, "`tenurectl allocations` shows those that are";
    /// The checkpoint could not be written; nothing that was acknowledged is lost.
    CheckpointFailed = "checkpoint-failed", 111, "check the disk under the state directory; the daemon reopens its log by itself";
    /// The disk under the state directory is full; DEL still works.
    DiskFull = "disk-full", 112, "free space under the state directory; ADD works again by itself";
    /// A network would be one more than the daemon keeps.
    TooManyNetworks = "too-many-networks", 113, "use one of the networks that exist, or raise `limits.networks`";
    /// A network's ranges or policy are not what the operator allows, or overlap those of a network that has its own for itself.
    OutOfBounds = "out-of-bounds", 114, "change the configuration, or `within`, `policies` and `exclusive` in tenured.toml";
    /// The ranges of a network that serves would change, and nobody has said that they may.
    RangesWouldChange = "ranges-would-change", 115, "repeat it with --change-ranges; what is held outside the new ranges stays its owners'";
    /// A network that is to be removed holds addresses.
    NetworkInUse = "network-in-use", 116, "delete its pods, or wait for the import to end; `tenurectl allocations` shows who holds what";
    /// A defect of tenure.
    Internal = "internal", 199, "please report it, with `tenurectl log` around that time";
}

impl ErrorCode {
    /// The code of a name, as [`name`](Self::name) gives it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A refusal or a failure: its code and its cause.
///
/// The next step comes from the code, so that it reads the same wherever the error is shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Error {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// What happened, in one line, naming what it happened to.
    pub cause: String,
    /// What a CNI caller is told instead of the cause: the whole text of the reference implementation, which callers
    /// compare. The log and operators get the cause.
    pub reference: Option<Box<str>>,
    /// How a policy failed, where one did. It is counted where it happens, and not told any further.
    pub failure: Option<PolicyFailure>,
}

impl Error {
    /// An error of a kind with its cause.
    pub fn new(code: ErrorCode, cause: impl fmt::Display) -> Self {
        Self { code, cause: cause.to_string(), reference: None, failure: None }
    }

    /// The same error, as a failure of a policy.
    #[must_use]
    pub fn failed_by(mut self, failure: PolicyFailure) -> Self {
        self.failure = Some(failure);
        self
    }

    /// The same error, told to a CNI caller in the reference implementation's words and in nothing else.
    #[must_use]
    pub fn told_as(mut self, reference: impl Into<Box<str>>) -> Self {
        self.reference = Some(reference.into());
        self
    }
}
