//! The verbs: what a runtime, an agent or an operator can ask of a node.

/// A change of the ledger, by the owner that it concerns. The names are those of the suite's pods and claims; an owner without a
/// known name goes by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Gives this owner an address.
    Gains(&'static str),
    /// Frees this owner's address.
    Loses(&'static str),
}

macro_rules! verbs {
    ($($variant:ident, $name:literal, $caller:literal, $of:expr, $effects:expr, $what:literal;)+) => {
        /// Everything that can be asked of a node, in the order in which the suite asks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Verb {
            $(#[doc = $what] $variant,)+
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
            /// The number of verbs, and so of the cells of a row.
            pub const COUNT: usize = Self::ALL.len();

            /// The verb as its caller writes it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the caller: a runtime, an agent or an operator.
            #[must_use]
            pub fn caller(self) -> &'static str {
                match self { $(Self::$variant => $caller,)+ }
            }

            /// The owners that are expected to have an address already, and get another if they have none.
            #[must_use]
            pub fn of(self) -> &'static [&'static str] {
                match self { $(Self::$variant => $of,)+ }
            }

            /// The changes of the ledger if the verb is done.
            #[must_use]
            pub fn effects(self) -> &'static [Effect] {
                match self { $(Self::$variant => $effects,)+ }
            }

            /// Describes the request of the suite.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self { $(Self::$variant => $what,)+ }
            }
        }
    };
}

verbs! {
    Status, "STATUS", "runtime", &[], &[], "Whether an ADD on the network would succeed.";
    AddAgain, "ADD again", "runtime", &["stays"], &[], "A repeated ADD of a pod that has its address.";
    Add, "ADD", "runtime", &[], &[Effect::Gains("new")], "The first ADD of a pod.";
    Check, "CHECK", "runtime", &[], &[], "A CHECK of a pod that has its address.";
    Del, "DEL", "runtime", &[], &[Effect::Loses("leaves")], "A DEL of a pod that has its address.";
    Gc, "GC", "runtime", &[], &[Effect::Loses("collected")], "A GC whose list lacks one pod.";
    Ensure, "Ensure", "agent", &[], &[Effect::Gains("ensured")], "A claim that does not exist yet.";
    EnsureAgain, "Ensure again", "agent", &["router"], &[], "A claim that exists.";
    ReleaseClaim, "Release", "agent", &[], &[Effect::Loses("released")], "The release of a claim by its agent.";
    Declare, "Declare", "agent", &["router", "unwanted", "seized", "ensured"], &[Effect::Gains("declared"), Effect::Loses("dropped")], "A declaration with one claim more, and one less.";
    List, "List", "agent", &[], &[], "The agent's claims.";
    Watch, "Watch", "agent", &[], &[], "The first response of a watch.";
    Inspect, "tenurectl check", "operator", &[], &[], "The comparison of memory, checkpoint and sandboxes.";
    Repair, "tenurectl repair", "operator", &[], &[], "A report of a leak that no runtime confirms; the address stays with its pod.";
    ReleasePod, "tenurectl release (pod)", "operator", &[], &[Effect::Loses("stray")], "The release of a pod's address by hand.";
    ReleaseClaimed, "tenurectl release (claim)", "operator", &[], &[Effect::Loses("seized")], "The same for the address of an agent's claim.";
    ReleaseUnknown, "tenurectl release (unknown)", "operator", &[], &[Effect::Loses("unknown 10.93.0.14")], "The same for an address that was imported for an unknown owner.";
    ReleaseAgents, "tenurectl claims release", "operator", &[], &[Effect::Loses("unwanted")], "The release of a claim by hand.";
    Quarantine, "tenurectl quarantine add", "operator", &[], &[], "An address of the network; its owner, if it has one, keeps it.";
    LiftQuarantine, "tenurectl quarantine lift", "operator", &[], &[], "The end of that quarantine.";
    Import, "tenurectl import", "operator", &[], &[Effect::Gains("imported")], "The import of an address from host-local's directory.";
    Reload, "tenurectl reload", "operator", &[], &[], "A reload of an unchanged tenured.toml.";
    Define, "tenurectl network define", "operator", &[], &[], "The network's own definition once more.";
    Load, "tenurectl policy load", "operator", &[], &[], "A policy from a file.";
    Shadow, "tenurectl policy shadow", "operator", &[], &[], "That policy in the network's shadow.";
    Promote, "tenurectl policy promote", "operator", &[], &[], "The exchange for the policy in the shadow, at once.";
    RollBack, "tenurectl policy rollback", "operator", &[], &[], "The way back to the policy before.";
    Activate, "tenurectl policy activate", "operator", &[], &[], "The exchange for a built-in policy.";
    Export, "tenurectl export", "operator", &[], &[], "The network's allocations for ipamd, which needs a stopped daemon.";
    Remove, "tenurectl network remove", "operator", &[], &[], "The removal of the network.";
    Adopt, "tenurectl adopt", "operator", &[], &[], "The operator's word that no live pod is missing.";
}
