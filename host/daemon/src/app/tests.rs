#[cfg(feature = "cluster")]
mod hour;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_rpc::client::connect;
use tenure_rpc::status::from_status;
use tenure_rpc::v1::Invocation;
use tenure_rpc::v1::cni_client::CniClient;
use tenure_types::{Error, ErrorCode, Moment};
use tokio::time::{sleep, timeout};

use super::*;
use crate::clock::KernelClock;
use crate::config::{HostLocalTable, LimitsTable};
use crate::fault;

/// The time limit for any wait, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The kernel's clocks; once armed, reading them panics on the checkpoint's thread.
#[derive(Default)]
struct Trap(AtomicBool);

impl Clock for Trap {
    fn now(&self) -> Moment {
        KernelClock.now()
    }

    fn monotonic(&self) -> Duration {
        let is_writer = std::thread::current().name() == Some("checkpoint");
        assert!(!(is_writer && self.0.load(Ordering::SeqCst)), "the clock is gone");
        KernelClock.monotonic()
    }
}

/// The log of this process, which writes nothing.
fn log() -> Control {
    static LOG: LazyLock<Control> = LazyLock::new(|| {
        let filter = "off".to_owned().try_into().unwrap();
        tenure_observe::logging::init(tenure_observe::logging::Format::Text, filter).unwrap()
    });
    LOG.clone()
}

/// Sends an ADD.
async fn add(socket: PathBuf, container: &str) -> Result<(), Error> {
    let config = r#"{"cniVersion":"1.1.0","name":"pods","ipam":{"type":"tenure","ranges":[[{"subnet":"10.7.0.0/24"}]]}}"#;
    let call = Invocation {
        config: config.into(),
        container_id: container.into(),
        interface: "eth0".into(),
        netns: format!("/run/nowhere/{container}"),
        ..Invocation::default()
    };
    let mut cni = CniClient::new(connect(&socket).await?);
    cni.add(call).await.map(drop).map_err(|status| from_status(&status))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_panics_ends_the_daemon_with_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let (run_dir, state_dir) = (directory.path().join("run"), directory.path().join("state"));
    let clock = Arc::new(Trap::default());
    let outside = Surroundings {
        config_file: Arc::new(ConfigFile::new(None)),
        run_dir: &run_dir,
        state_dir: &state_dir,
        identity: crate::identity::read(&Config::default().node, None).unwrap(),
        clock: Arc::clone(&clock) as _,
        compiler: Compiler::InProcess,
        log: log(),
        reloads: crate::parts::ReloadRequests {
            hangups: tenure_supervise::hangups().unwrap(),
            followed: None,
        },
    };
    // A daemon that drained would not end within any limit here.
    let limits = LimitsTable { drain_seconds: 3600, ..LimitsTable::default() };
    let config = Config { host_local: HostLocalTable { ignore: true }, limits, ..Config::default() };
    let app = App::build(config, outside).unwrap();
    let running = tokio::spawn(async move { app.run(&mut Signals::listen().unwrap()).await });

    let socket = run_dir.join("cni.sock");
    let served = async {
        // Until the socket exists and the policy is compiled.
        while add(socket.clone(), "first").await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, served).await.unwrap();

    clock.0.store(true, Ordering::SeqCst);
    let refused = add(socket.clone(), "second").await.unwrap_err();
    assert!(matches!(refused.code, ErrorCode::CheckpointFailed | ErrorCode::Unreachable), "{refused:?}");
    let error = timeout(LIMIT, running).await.unwrap().unwrap().unwrap_err();
    assert_eq!(format!("{error:#}"), "part checkpoint has ended: its thread panicked: the clock is gone");
    assert_eq!(fault::code(&error), tenure_supervise::exit::TRANSIENT, "the service manager restarts it");
    assert!(!socket.exists(), "no socket is left without a daemon");
}
