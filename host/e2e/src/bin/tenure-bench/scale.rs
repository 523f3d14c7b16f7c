//! The measurements, and how often each is made.

use clap::ValueEnum;

/// The rows that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rows {
    /// Programs one after the other, and the parts of an ADD
    Turns,
    /// Concurrent programs
    AtOnce,
    /// ADDs over gRPC
    Grpc,
    /// A steady load, with and without exchanges of the policy
    Steady,
    /// A steady load beside an agent
    Agents,
    /// A steady load on a network whose claims are declared again all the time
    Declared,
    /// Policy calls, and the ledger's part
    Policy,
    /// ADDs beside policies that spin or compile
    Stalls,
    /// A restart of the daemon under a stream of ADDs
    Restarts,
    /// The wake-ups of a daemon that nobody calls
    Idle,
    /// Memory, start and listing of large states
    Large,
    /// Blocks of a cluster: simulated agents, a real API server and operator
    Cluster,
    /// Sizes of programs, and instructions
    Size,
}

/// The number of samples of each measurement.
pub(crate) struct Scale {
    /// Executions of each subject for one median.
    pub(crate) rounds: usize,
    /// Executions of each subject when run concurrently.
    pub(crate) at_once: usize,
    /// The sizes of three networks in allocations, and their names in the table.
    pub(crate) sizes: [(u32, &'static str); 3],
    /// Networks of the subject with many networks.
    pub(crate) networks: u32,
    /// Two large states.
    pub(crate) large: [Large; 2],
    /// ADDs of a throughput run.
    pub(crate) throughput: u32,
    /// ADDs at a steady pace, without exchanges of the policy and as many with them.
    pub(crate) steady: u32,
    /// Number of those exchanges.
    pub(crate) exchanges: u32,
    /// ADDs beside an agent without watches, and as many with them.
    pub(crate) agents: u32,
    /// The agent's claims, and how often it opens a watch.
    pub(crate) claims: u32,
    pub(crate) watches: u32,
    /// Calls of a policy.
    pub(crate) calls: u32,
    /// ADDs measured next to each kind of policy that stalls its own network.
    pub(crate) beside: u32,
    /// ADDs through the plugin, at 100 a second, while the daemon is restarted.
    pub(crate) restarted: u32,
    /// Seconds for which a daemon is left alone.
    pub(crate) idle: u32,
    /// Simulated agents of a cluster, and ADDs on a node of it.
    pub(crate) herd: (u32, u32),
}

/// A large state, and the goals of what it costs.
pub(crate) struct Large {
    pub(crate) allocations: u32,
    /// Time from the start to the first answer, in seconds.
    pub(crate) start: f64,
    /// Memory of the daemon, in megabytes.
    pub(crate) memory: f64,
    /// Time of a list, in seconds.
    pub(crate) list: Option<f64>,
}

pub(crate) const FULL: Scale = Scale {
    rounds: 300,
    at_once: 640,
    sizes: [(1_000, "1k"), (10_000, "10k"), (60_000, "60k")],
    networks: 100,
    large: [
        Large { allocations: 100_000, start: 0.15, memory: 60.0, list: None },
        Large { allocations: 1_000_000, start: 2.0, memory: 500.0, list: Some(5.0) },
    ],
    throughput: 30_000,
    steady: 27_000,
    exchanges: 1_000,
    agents: 13_500,
    claims: 1_000,
    watches: 10_000,
    calls: 20_000,
    beside: 2_000,
    restarted: 600,
    idle: 60,
    herd: (5_000, 300),
};
pub(crate) const SHORT: Scale = Scale {
    rounds: 3,
    at_once: 32,
    sizes: [(10, "1k"), (20, "10k"), (50, "60k")],
    networks: 3,
    large: [
        Large { allocations: 1_100, start: 0.15, memory: 60.0, list: None },
        Large { allocations: 1_200, start: 2.0, memory: 500.0, list: Some(5.0) },
    ],
    throughput: 500,
    steady: 60,
    exchanges: 8,
    agents: 60,
    claims: 20,
    watches: 20,
    calls: 100,
    beside: 20,
    restarted: 30,
    idle: 1,
    herd: (20, 3),
};
