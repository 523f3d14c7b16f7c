//! Errors, in the one form shared by CNI answers, the log, metric labels and gRPC.

use std::borrow::Cow;
use std::fmt;

use crate::{PolicyFailure, printable};

/// The result of an operation whose failure a caller may see.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $cni:literal, $next:literal;)+) => {
        /// Every kind of refusal and failure, each with one stable name.
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

            /// The next step for an operator.
            #[must_use]
            pub fn next_step(self) -> &'static str {
                match self { $(Self::$variant => $next,)+ }
            }

            /// The meaning, for the error index.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The configuration's `cniVersion` is not one of those from 0.1.0 to 1.1.0, or is too old for the command.
    IncompatibleVersion = "incompatible-version", 1,
        "use a cniVersion that `tenure` lists for CNI_COMMAND=VERSION";
    /// A CNI environment variable is missing or malformed.
    InvalidEnvironment = "invalid-environment", 4,
        "the runtime sets these variables: check its version and the plugin chain that calls the IPAM plugin";
    /// A file or a descriptor could not be read or written, or is in use by another process.
    InputOutput = "input-output", 5, "check the file or descriptor named above";
    /// The network configuration on standard input, or a file that is named above, is not a JSON object, or its `name` or `cniVersion` is not a string.
    MalformedConfig = "malformed-config", 6, "check the network configuration with a JSON linter";
    /// A key of the configuration is missing or invalid.
    InvalidConfig = "invalid-config", 7, "fix the key named above";
    /// The pod's network namespace is the host's own.
    HostNetns = "host-netns", 8, "the runtime must pass the pod's namespace in CNI_NETNS";
    /// The daemon could not be reached.
    Unreachable = "daemon-unreachable", 11, "check that tenured is running (`systemctl status tenured`) and that `ipam.socket` is its socket; the runtime retries";
    /// The request did not finish before its deadline, or the caller gave up.
    DeadlineExceeded = "deadline-exceeded", 11, "the runtime retries; `tenurectl status` shows what the daemon is waiting for";
    /// The daemon's request queue is full.
    Overloaded = "overloaded", 11, "the runtime retries; raise `limits.queue` if this persists";
    /// A policy keeps failing on a network, so its calls there are refused for a while.
    PolicyBenched = "policy-benched", 11,
        "activate another policy with `tenurectl policy activate`; otherwise the daemon retries it by itself";
    /// The daemon is starting, stopping, or waiting for something that it needs first.
    NotReady = "not-ready", 11, "the runtime retries; `tenurectl status` says what the daemon is waiting for";
    /// The daemon is stopping. The plugin waits for the next one.
    Stopping = "stopping", 11, "nothing to do if the daemon is being restarted; otherwise start it";
    /// The daemon is still reading, compiling or checking the network's policy, or defining the network. The plugin waits for that.
    Preparing = "preparing", 11, "nothing to do: the runtime retries; `tenurectl status` says what is being prepared";
    /// No address is free yet, but the policy says that more have been requested.
    NotYet = "not-yet", 11, "the runtime retries; `tenurectl plan --explain` says what is lacking, and on AWS `tenurectl cloud` what EC2 refuses";
    /// A DEL of the same attachment overtook this ADD, or a later ADD of it named another network namespace; or the ADD began before the oldest DEL that the daemon can remember.
    Superseded = "superseded", 11, "nothing to do: the runtime tries again if the pod is still wanted";
    /// Another IPAM holds addresses of this network that have not been imported, so they could be handed out twice.
    NotTakenOver = "not-taken-over", 11,
        "import them as described above; if they are not in use, remove their files or set `host_local.ignore`";
    /// A network's delegate could not be run, did not answer in time, or says that a later call may succeed.
    DelegateUnavailable = "delegate-unavailable", 11,
        "the runtime retries; check `[delegates.NAME]` in tenured.toml and the binary named above";
    /// The labels of the pod, or of its namespace, decide about its pool or are granted to its policy, and the API server did not say them.
    PodUnread = "pod-unread", 11,
        "the runtime retries; check that the node reaches the API server and may get pods and namespaces: `tenurectl status` shows `pods-unknown`";
    /// The pod names an AddressClaim that has no address yet, or the API server, which must say that the address is this node's now, did not answer.
    ClaimPending = "claim-pending", 11,
        "the runtime retries; `kubectl describe addressclaim` says what the claim waits for, and `tenurectl status` whether the node reaches the API server";
    /// The address of the pod's AddressClaim is in use by another pod, or on a node that has not let go of it.
    WaitingForPreviousOwner = "waiting-for-previous-owner", 11,
        "the runtime retries, and the address moves once the pod named above is gone from its node; if that node is dead, delete its Node, or attest that it is off with the annotation `ipam.tenure.dev/fenced`";
    /// STATUS: the node cannot serve an ADD now.
    Unavailable = "unavailable", 50, "fix the cause named above; `tenurectl status` shows more";
    /// A pool has no free address. For a pool that the host supplies, `tenurectl plan --explain` says what is lacking.
    PoolExhausted = "pool-exhausted", 101, "delete pods or add a range; `tenurectl networks` shows usage";
    /// An address that the caller requested is not available.
    AddressUnavailable = "address-unavailable", 102, "request another address; `tenurectl allocation ADDRESS` shows who holds it";
    /// CHECK: the attachment holds no address.
    UnknownAttachment = "unknown-attachment", 103, "delete the pod so that it is recreated";
    /// The policy refused the request for a reason of its own.
    PolicyRefused = "policy-refused", 104, "the reason above is the policy's own text; ask its author";
    /// A rule of the policy does not allow the request.
    RequestDenied = "request-denied", 124, "the rule above is the policy's; ask who wrote it, or change the network's configuration";
    /// The owner, or the group that it belongs to, has as many addresses as the policy allows.
    OverQuota = "over-quota", 125, "delete pods or claims of the group named above, or raise its quota in the network's configuration";
    /// The policy trapped, exceeded its time, memory or output limit, or returned a malformed answer.
    PolicyFailed = "policy-failed", 105,
        "report it to the policy's author, or raise the limit named above; `tenurectl policy activate` switches to another policy";
    /// The ledger rejected what the policy proposed or defined; nothing was handed out.
    ProposalRejected = "proposal-rejected", 106, "report it to the policy's author; `tenurectl policy activate` switches to another policy";
    /// The node has no policy of that name.
    UnknownPolicy = "unknown-policy", 107, "`tenurectl policy list` shows the policies; `tenurectl policy load NAME FILE` or `[policies.NAME]` in tenured.toml adds one";
    /// A policy's file is missing, does not match its sha256, or is not a policy.
    PolicyUnloadable = "policy-unloadable", 108, "fix what is named above and check `tenurectl policy list`; the previous policy keeps serving";
    /// No network of that name exists on this node.
    UnknownNetwork = "unknown-network", 109, "`tenurectl networks` lists the networks; the first ADD, `tenurectl network define` or tenured.toml creates one";
    /// The address is not allocated on this node.
    UnknownAddress = "unknown-address", 110, "`tenurectl allocations` lists the allocated addresses";
    /// The checkpoint could not be written; nothing acknowledged is lost.
    CheckpointFailed = "checkpoint-failed", 111, "check the disk under the state directory; the daemon reopens its log by itself";
    /// The disk under the state directory is full; DEL still works.
    DiskFull = "disk-full", 112, "free space under the state directory; ADD works again by itself";
    /// The node already has as many networks as `limits.networks` allows.
    TooManyNetworks = "too-many-networks", 113, "use an existing network, or raise `limits.networks`";
    /// tenured.toml does not allow it: the ranges, the policy, an overlap with an exclusive network, or a change to a network defined there.
    OutOfBounds = "out-of-bounds", 114, "change the network's configuration, or the key of tenured.toml named above";
    /// The change would alter the ranges of an existing network, and `--change-ranges` was not given.
    RangesWouldChange = "ranges-would-change", 115, "repeat with --change-ranges; addresses held outside the new ranges stay with their owners";
    /// The network to be removed still holds addresses, or is being imported.
    NetworkInUse = "network-in-use", 116, "delete its pods, or wait for the import to finish; `tenurectl allocations` shows who holds addresses";
    /// The policy does not pass the conformance suite, so it was not put into service.
    PolicyNonconforming = "policy-nonconforming", 117,
        "report it to the policy's author; `tenurectl policy check` runs the same suite, and --unchecked skips it";
    /// The policy to be unloaded serves a network, or runs in the shadow of one.
    PolicyInUse = "policy-in-use", 118, "activate another policy there first; `tenurectl policy list` shows who uses it";
    /// The shadow run does not show yet that the policy can serve, or shows that it cannot.
    ShadowInconclusive = "shadow-inconclusive", 119,
        "`tenurectl policy shadow NETWORK` shows the comparisons; --now promotes without waiting for more";
    /// The component is not signed with a key that the configuration trusts.
    PolicyUntrusted = "policy-untrusted", 120, "sign it with a key of `signatures.keys`, or add its key there";
    /// The network has had no other policy to return to.
    NothingBefore = "nothing-before", 121, "`tenurectl policy history NETWORK` shows what has served it";
    /// The node already has as many loaded policies as it can keep.
    TooManyPolicies = "too-many-policies", 122, "unload some with `tenurectl policy unload`";
    /// The component is signed as an older release than one that the node has accepted under that name, or as none.
    PolicyOutdated = "policy-outdated", 123,
        "load a newer release; `tenurectl policy load --older` accepts this one, and `tenurectl policy rollback` returns to what served before";
    /// A policy cannot take over the state that another one has kept on the network, so it does not serve there.
    StateNotMigrated = "state-not-migrated", 127,
        "report it to the policy's author, or activate it with --empty-state; `tenurectl policy state NETWORK --export` saves the old state";
    /// A state cannot be stored: the network's policy keeps none, or it is too long.
    StateNotKept = "state-not-kept", 128, "`tenurectl policy state NETWORK` shows which policy keeps a state, and how long it is";
    /// The network's state has another version than the one that was to be replaced.
    StateChanged = "state-changed", 129, "look at it again with `tenurectl policy state NETWORK`, and repeat with its version";
    /// An agent may not claim this: its table in tenured.toml does not allow the network, the name, the address or the number.
    ClaimDenied = "claim-denied", 130, "the rule above is in `[agents.NAME]` of tenured.toml; ask the node's operator";
    /// The agent's claim holds other addresses than it now asks for.
    ClaimDiffers = "claim-differs", 131, "release the claim first, or declare the whole set of claims, which replaces it";
    /// A request for a claim is malformed.
    ClaimInvalid = "claim-invalid", 132, "correct what is named above in the agent's request";
    /// No agent is configured for the caller, or none has the name that an operator gives.
    AgentUnknown = "agent-unknown", 133, "`[agents.NAME]` in tenured.toml admits an agent by its user, group or pod";
    /// The claim belongs to another scope of its agent: to another component that shares the agent's user.
    ClaimOfAnotherScope = "claim-of-another-scope", 134,
        "use another name for the claim, name the scope that has it, or take it over with `from_scope` if this component replaces that one";
    /// The claim is not the one that was to be released: it was made again, or another holder has asked for it since.
    ClaimSuperseded = "claim-superseded", 135,
        "nothing to do if a successor uses the claim now; otherwise list the claims, and release it with its present generation and holder";
    /// Two AddressPools of the network select the pod equally exactly.
    AmbiguousPool = "ambiguous-pool", 136,
        "change the podSelector or namespaceSelector of one of the pools named above, or name a pool in the annotation `ipam.tenure.dev/pools` of the pod or its namespace";
    /// No AddressPool of the network may serve the pod: none selects it and there is no default, or it names a pool that does not exist.
    PoolUnmatched = "pool-unmatched", 137,
        "correct the pool's name or the annotation named above, or the selectors of the network's AddressPools; `tenurectl networks` lists the pools";
    /// The agent has no such claim.
    ClaimUnknown = "claim-unknown", 138, "`tenurectl claims` lists the claims; the agent has to claim it";
    /// A network's delegate refused a call, or its answer is invalid.
    DelegateFailed = "delegate-failed", 140, "the reason above is the delegate's own text; check `delegate_config` of the network";
    /// The ledger rejected what a network's delegate gave, for instance an address that somebody has; it was given back.
    DelegateRejected = "delegate-rejected", 141,
        "check whether the delegate has lost its state, or serves others from the same ranges; `tenurectl delegates` shows what it has given";
    /// A policy's folder cannot be created, built or tested as it is.
    BuildFailed = "build-failed", 150, "change what is named above, and run the command again";
    /// A tool that building a policy needs is not installed.
    ToolMissing = "tool-missing", 151, "install what is named above, and run the command again";
    /// An `oci://` reference is malformed, or names no digest.
    InvalidReference = "invalid-reference", 152,
        "name the component as oci://HOST/REPOSITORY@sha256:DIGEST, with the manifest's digest";
    /// A registry could not be reached, or did not answer in time.
    RegistryUnreachable = "registry-unreachable", 153,
        "check the registry's name and the network, and run the command again; --timeout allows a longer silence, --plain-http is for a registry without TLS";
    /// A registry does not have the component, or denies access to it.
    RegistryRefused = "registry-refused", 154, "check the reference and the credentials";
    /// The registry's answer is not one component with the expected digest and size.
    RegistryMismatch = "registry-mismatch", 155,
        "load nothing from this reference until its publisher has confirmed its digest and its form";
    /// The kernel did not make, show or remove a pod's link or the way to it; the address was released again.
    LinkFailed = "link-failed", 160, "fix the cause named above; the runtime retries, and `tenurectl log` shows more";
    /// The daemon may not make links: it lacks a capability.
    LinkForbidden = "link-forbidden", 161,
        "run tenured with CAP_NET_ADMIN and CAP_SYS_ADMIN: install deploy/systemd/tenure-eni.conf as a drop-in of its unit";
    /// The link that a pod needs has the name of a link that is not the host's to replace.
    LinkTaken = "link-taken", 162, "rename or remove the link named above; the runtime retries";
    /// CHECK: a pod's link, or the result that the runtime kept of it, does not match the expected state.
    LinkDiffers = "link-differs", 163, "delete the pod so that it is recreated; a repeated ADD repairs the link, too";
    /// Another pod's link has the name that this pod's needs: names of links have room for few digits of a digest.
    LinkNameShared = "link-name-shared", 164, "give the pod another name: its link's name follows from it";
    /// The node uses no cloud interfaces for the network.
    NoCloud = "no-cloud", 170,
        "set `network` in `[aws]` of tenured.toml to a network whose policy plans, such as `aws-eni`";
    /// A file that `tenurectl install` did not write, or that somebody has changed since, is where it would write one.
    FileInTheWay = "file-in-the-way", 171, "compare it with the new one, and move it away, or choose another name or directory";
    /// `tenurectl install` has no record of a file to remove, or of a plugin to bring back.
    NotInstalled = "not-installed", 172, "pass the record of the installation with --record; without one, remove the files by hand";
    /// Removing the plugin would leave addresses that no DEL could free.
    AddressesInUse = "addresses-in-use", 173, "drain the node first; `tenurectl allocations` shows who holds addresses";
    /// The node leases no blocks of a cluster.
    NoCluster = "no-cluster", 174,
        "set `networks` in `[cluster]` of tenured.toml to the networks whose addresses come from AddressPools";
    /// Nothing is planned for the network on this node: neither AWS interfaces nor a cluster supplies its pools, or its policy does not plan.
    NoPlan = "no-plan", 175,
        "name a network whose policy plans in `[cluster]` or `[aws]` of tenured.toml, if a cluster or AWS interfaces are to supply its pools";
    /// A gRPC request cannot be decoded, broke off, or is longer than its method allows.
    MalformedRequest = "malformed-request", 180,
        "check the caller: the files under `host/rpc/proto` define the messages, and the text above names the limit";
    /// The socket does not serve the gRPC method that was called.
    UnknownMethod = "unknown-method", 181,
        "check the caller: each socket serves its own services, and an older daemon lacks newer methods";
    /// An answer is longer than its reader takes.
    TooLong = "too-long", 198, "ask for less, such as one network; `tenurectl status` shows that the daemon runs";
    /// A bug in tenure.
    Internal = "internal", 199, "please report it, with `tenurectl log` around that time";
}

impl ErrorCode {
    /// The next step where the host supplies a pool that has no free address.
    pub const SUPPLY_STEP: &str = "`tenurectl plan --explain` says what is lacking, and on AWS `tenurectl cloud` what EC2 refuses; otherwise delete pods";

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
/// The next step comes from the code, so that it reads the same wherever the error is shown, unless the way out is another one here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Error {
    /// The kind of failure.
    pub code: ErrorCode,
    /// The cause, in one line, naming the object that it concerns.
    pub cause: String,
    /// The message for a CNI caller instead of the cause: the reference implementation's whole text, which
    /// callers compare. The log, operators and the error's details get the cause.
    pub reference: Option<Box<str>>,
    /// How a policy failed, where one did. It is counted where it happens and not passed on.
    pub failure: Option<PolicyFailure>,
    /// The next step here, if it is another one than the code's.
    pub next_step: Option<Cow<'static, str>>,
}

impl Error {
    /// An error of a kind with its cause, in which characters from outside that could deceive a reader are escaped.
    pub fn new(code: ErrorCode, cause: impl fmt::Display) -> Self {
        let cause = cause.to_string();
        let escaped = match printable::lines(&cause) {
            Cow::Borrowed(_) => None,
            Cow::Owned(escaped) => Some(escaped),
        };
        Self { code, cause: escaped.unwrap_or(cause), reference: None, failure: None, next_step: None }
    }

    /// The next step for an operator.
    #[must_use]
    pub fn next_step(&self) -> &str {
        self.next_step.as_deref().unwrap_or_else(|| self.code.next_step())
    }

    /// The same error with another next step.
    #[must_use]
    pub fn to_be_solved_by(mut self, next_step: impl Into<Cow<'static, str>>) -> Self {
        self.next_step = Some(next_step.into());
        self
    }

    /// The same error, as a failure of a policy.
    #[must_use]
    pub fn failed_by(mut self, failure: PolicyFailure) -> Self {
        self.failure = Some(failure);
        self
    }

    /// The same error, whose message is the reference implementation's for a CNI caller.
    #[must_use]
    pub fn told_as(mut self, reference: impl Into<Box<str>>) -> Self {
        self.reference = Some(reference.into());
        self
    }
}
