//! A daemon with scripted answers, and a builder for calls of the real plugin.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use tenure_rpc::door::Door;
use tenure_rpc::v1::cni_server::Cni;
use tenure_rpc::v1::eni_server::Eni;
use tenure_rpc::v1::{Answer, Invocation};
use tenure_rpc::{server, status};
use tenure_types::Error;
use tokio::runtime::Runtime;
use tonic::{Request, Response, Status};

/// How the daemon answers every call.
#[derive(Clone)]
pub(crate) enum Reply {
    Output(&'static str),
    Refuse(Error),
    /// Refuses the first call, and answers the others.
    First(Error, &'static str),
    Status(Status),
    Hang,
}

/// A running daemon, which stops when dropped.
pub(crate) struct Daemon {
    directory: tempfile::TempDir,
    calls: Arc<Mutex<Vec<(&'static str, Invocation)>>>,
    _runtime: Runtime,
}

impl Daemon {
    pub(crate) fn new(reply: Reply) -> Self {
        Self::at(tempfile::tempdir().unwrap(), reply)
    }

    /// A daemon in a directory, whose socket may be left of another one.
    pub(crate) fn at(directory: tempfile::TempDir, reply: Reply) -> Self {
        let runtime = Runtime::new().unwrap();
        let calls = Arc::default();
        let service = Service { reply, calls: Arc::clone(&calls) };
        let calls_in = {
            let _entered = runtime.enter();
            Door::open(directory.path().join("cni.sock")).unwrap().connections(std::future::pending, |_| {})
        };
        let under_way = server::UnderWay::default();
        runtime.spawn(server::serve_cni(calls_in, service, under_way, std::future::pending()));
        Self { directory, calls, _runtime: runtime }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("cni.sock")
    }

    pub(crate) fn calls(&self) -> Vec<(&'static str, Invocation)> {
        self.calls.lock().unwrap().clone()
    }
}

#[derive(Clone)]
struct Service {
    reply: Reply,
    calls: Arc<Mutex<Vec<(&'static str, Invocation)>>>,
}

impl Service {
    async fn answer(
        &self,
        method: &'static str,
        call: Request<Invocation>,
    ) -> Result<Response<Answer>, Status> {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((method, call.into_inner()));
            calls.len()
        };
        match self.reply.clone() {
            Reply::First(error, _) if number == 1 => Err(status::to_status(&error)),
            Reply::First(_, output) => Ok(Response::new(Answer { output: output.into() })),
            Reply::Output(output) => Ok(Response::new(Answer { output: output.into() })),
            Reply::Refuse(error) => Err(status::to_status(&error)),
            Reply::Status(status) => Err(status),
            Reply::Hang => std::future::pending().await,
        }
    }
}

#[tonic::async_trait]
impl Cni for Service {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("add", call).await
    }
    async fn del(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("del", call).await
    }
    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("check", call).await
    }
    async fn gc(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("gc", call).await
    }
    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("status", call).await
    }
}

#[tonic::async_trait]
impl Eni for Service {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("eni add", call).await
    }
    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("eni check", call).await
    }
    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.answer("eni status", call).await
    }
}

/// A call of the plugin, complete by default.
pub(crate) struct Plugin {
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
    config: String,
}

/// The output of a call and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Plugin {
    pub(crate) fn new(command: &str, socket: &Path) -> Self {
        let variables = [
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", "pod-1"),
            ("CNI_NETNS", "/no/such/netns"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", "/opt/cni/bin"),
            ("TENURE_SOCKET", socket.to_str().unwrap()),
        ];
        Self {
            program: env!("CARGO_BIN_EXE_tenure").into(),
            variables: variables.map(|(name, value)| (name, value.to_owned())).into(),
            config: r#"{"cniVersion":"1.1.0","name":"net","ipam":{"type":"tenure","wait":0}}"#.to_owned(),
        }
    }

    pub(crate) fn program(mut self, program: PathBuf) -> Self {
        self.program = program;
        self
    }

    /// Sets a variable; an empty value removes it.
    pub(crate) fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            self.variables.push((name, value.to_owned()));
        }
        self
    }

    pub(crate) fn config(mut self, config: impl Into<String>) -> Self {
        self.config = config.into();
        self
    }

    pub(crate) fn run(self) -> Printed {
        let mut child = Command::new(self.program)
            .env_clear()
            .envs(self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The plugin may exit without reading all of it.
        child.stdin.take().unwrap().write_all(self.config.as_bytes()).ok();
        let output = child.wait_with_output().unwrap();
        Printed {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
        }
    }

    /// Runs a call that must fail, and returns code, message and version of its error object.
    #[track_caller]
    pub(crate) fn fail(self) -> (u64, String, String) {
        let printed = self.run();
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(1), ""), "{printed:?}");
        let error: serde_json::Value = serde_json::from_str(&printed.stdout).expect(&printed.stdout);
        let text = |key: &str| error[key].as_str().unwrap().to_owned();
        // libcni itself sets details for one error only.
        let detailed = error["code"].as_u64() > Some(10) || text("msg") == "incompatible CNI versions";
        assert_eq!(error["details"].is_string(), detailed, "{error}");
        (error["code"].as_u64().unwrap(), text("msg"), text("cniVersion"))
    }

    /// Runs a call that must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn succeed(self) -> String {
        let printed = self.run();
        assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{printed:?}");
        printed.stdout
    }
}
