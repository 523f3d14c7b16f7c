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
    Starting, "starting", "The daemon has opened its sockets, and still compiles the policy that serves the network.";
    Stopping, "stopping", "The daemon was told to stop and still has a request under way.";
    StateLost, "state_lost", "The state directory was deleted while the daemon was down. A CHECK finds no owner, and is answered as by older daemons. Once an operator has changed anything here, only `tenurectl adopt` ends the situation: the right state is not recognized any more.";
    StateOlder, "state_older", "An older copy of the state directory was put back while the daemon was down. For an operator's changes, the same holds.";
    Rebooted, "rebooted", "The node has booted since the addresses were given.";
    RunDirectoryGone, "run_directory_gone", "The run directory was deleted under the running daemon, which has created it again.";
    ImportUnderWay, "import_under_way", "Another program is in the middle of an import into the network.";
    ImportCutOff, "import_cut_off", "The daemon was killed in the middle of an import, and runs again.";
    SourceGone, "source_gone", "The same, and the node has booted and the files of the import are gone.";
    NetworkRemoved, "network_removed", "The network was removed; its configuration file is still there.";
    PolicyLoading, "policy_loading", "The policy that the network's configuration names is still being compiled; the network has never served.";
    Benched, "benched", "The network's policy keeps failing, so it is not asked for a while.";
    Shadowed, "shadowed", "Another policy runs in the shadow of the network's.";
    Exchanging, "exchanging", "An exchange of the network's policy waits for the new one to be compiled.";
    Draining, "draining", "The network was redefined, and the range of its addresses drains.";
    PoolFull, "pool_full", "All of the network's addresses are in use.";
    AllCooling, "all_cooling", "All of the network's addresses that are not in use are cooling down.";
    DelegateFailing, "delegate_failing", "The network's addresses come from a delegate that cannot be started any more.";
    DiskFull, "disk_full", "The disk under the state directory is full.";
    DiskFailing, "disk_failing", "Every sync of the checkpoint fails.";
    RuntimeSilent, "runtime_silent", "The container runtime accepts connections and answers nothing.";
    TwoAtOnce, "two_at_once", "Two callers ask for the same at the same time.";
}
