//! The situations that a node can be in.

macro_rules! situations {
    ($($variant:ident, $name:literal, $what:literal;)+) => {
        /// A situation of a node, in which every verb is asked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Situation {
            $(#[doc = $what] $variant,)+
        }

        impl Situation {
            /// Every situation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name, which is also its test's.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// How the node is, in a sentence.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self { $(Self::$variant => $what,)+ }
            }
        }
    };
}

situations! {
    Calm, "calm", "Nothing is wrong.";
    Down, "down", "The daemon is down, or has not opened its sockets yet.";
    Stopping, "stopping", "The daemon was told to stop and still has a request under way.";
    ImportUnderWay, "import_under_way", "Another program is in the middle of an import into the network.";
    ImportCutOff, "import_cut_off", "The daemon was killed in the middle of an import, and runs again.";
    SourceGone, "source_gone", "The same, and the files of the import are gone.";
    PolicyLoading, "policy_loading", "The policy that the network's configuration names is still being compiled; the network has never served.";
    Shadowed, "shadowed", "Another policy runs in the shadow of the network's.";
    Exchanging, "exchanging", "An exchange of the network's policy waits for the new one to be compiled.";
    PoolFull, "pool_full", "All of the network's addresses are in use.";
    DiskFull, "disk_full", "The disk under the state directory is full.";
    DiskFailing, "disk_failing", "Every sync of the checkpoint fails.";
}
