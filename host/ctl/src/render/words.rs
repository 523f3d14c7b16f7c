//! The words of the protocol that decide what is printed and how the program exits.
//!
//! On the wire they are strings, so that an older program can print what a newer daemon says. Here, and nowhere else, they become values.

/// Declares the words of a field; `of` returns `None` for a word that only a newer daemon knows.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $name {
            $($variant),+
        }

        impl $name {
            pub(super) fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}

words! {
    /// The state of a node that does not serve ADD; all others do.
    NodeReadiness { NotReady = "not-ready" }
    /// The result of a release or of a repair.
    ReleaseOutcome { Released = "released", Kept = "kept", Ended = "ended" }
    /// The result of importing an attachment.
    ImportVerdict {
        Taken = "taken",
        Held = "held",
        Released = "released",
        Unknown = "unknown",
        Refused = "refused",
    }
    /// The standing of an address in a network that needs words of its own.
    AddressStanding {
        Cooling = "cooling",
        Draining = "draining",
        Reserved = "reserved",
        Quarantined = "quarantined",
    }
    /// An owner that is not known.
    OwnerKind { Unknown = "unknown" }
    /// The author of a definition, or the chooser of a policy.
    ChosenBy { Configuration = "configuration", Operator = "operator" }
    /// The resource that EC2 had too little of.
    CloudUnit { Address = "address", Prefix = "prefix" }
    /// The result of a call of EC2.
    CallOutcome { Ok = "ok" }
    /// How sure it is that something is there.
    CloudState { Confirmed = "confirmed" }
    /// A source of what is known that is not EC2.
    CloudSource { Imds = "imds" }
    /// The evidence of a fact.
    CloudEvidence { Ledger = "ledger" }
}
