//! A real API server, and the way to it: for the test itself without TLS, and for programs in a network namespace by the same port of loopback.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane};
use tenure_fixtures::wait;

use crate::{request, traffic};

/// The longest that it may take to start, or to learn of a definition, on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The path of pods.
pub const PODS: &str = "/api/v1/namespaces/default/pods";

/// The path of definitions of kinds.
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// An API server with its etcd. Both end with the value.
pub struct ApiServer {
    /// The processes.
    pub plane: ControlPlane,
    /// The way without TLS, on which requests can be lost.
    pub proxy: FaultProxy,
}

impl ApiServer {
    /// Starts one, and waits until it serves.
    ///
    /// # Errors
    /// Returns an error if the API server does not serve within three minutes.
    pub fn start() -> anyhow::Result<Self> {
        let mut plane = ControlPlane::start()?;
        let proxy = wait::until("the API server's certificate", LIMIT, || {
            plane.check()?;
            Ok(plane.proxy().ok())
        })?;
        let mut server = Self { plane, proxy };
        server.serves()?;
        Ok(server)
    }

    /// Waits until it answers, and has the namespace of the tests.
    ///
    /// # Errors
    /// Returns an error if the API server has ended, or does not answer, or lacks the namespace, for three minutes.
    pub fn serves(&mut self) -> anyhow::Result<()> {
        let mut last = String::new();
        wait::holds("the API server", LIMIT, || {
            self.plane.check()?;
            for path in ["/readyz", "/api/v1/namespaces/default"] {
                let answer = self.send(&format!("GET {path}"), "");
                if !answer.as_ref().is_ok_and(|answer| answer.status == 200) {
                    last = format!("{path}: {answer:?}");
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .context(last)
    }

    /// A kubeconfig that leads through the proxy, for a client that sends its token without TLS, too.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        self.proxy.kubeconfig(ADMIN_TOKEN)
    }

    /// Makes an object, and returns it as it was stored. The API server learns of a definition a moment after it was written.
    ///
    /// # Errors
    /// Returns an error if the API server refuses the object.
    pub fn create(&self, to: &str, object: &Value) -> anyhow::Result<Value> {
        wait::until(to, LIMIT, || {
            let answer = self.send(&format!("POST {to}"), &object.to_string())?;
            match answer.status {
                201 => Ok(Some(serde_json::from_str(&answer.body)?)),
                404 | 429 | 500.. => Ok(None),
                _ => bail!("{to}: {answer:?}"),
            }
        })
    }

    /// Sends a request that must succeed, such as a patch of an object; returns the body.
    ///
    /// # Errors
    /// Returns an error if the API server answers with another status than 200.
    pub fn ask(&self, what: &str, body: &Value) -> anyhow::Result<String> {
        let answer = self.send(what, &if body.is_null() { String::new() } else { body.to_string() })?;
        ensure!(answer.status == 200, "{what}: {answer:?}");
        Ok(answer.body)
    }

    /// Sends a request; a patch is a merge patch.
    ///
    /// # Errors
    /// Returns an error if the API server does not answer.
    pub fn send(&self, what: &str, body: &str) -> anyhow::Result<request::Answer> {
        let kind = if what.starts_with("PATCH") { "merge-patch+json" } else { "json" };
        let head =
            [format!("Authorization: Bearer {ADMIN_TOKEN}"), format!("Content-Type: application/{kind}")];
        let to = format!("127.0.0.1:{}", self.proxy.port());
        request::ask(Path::new("/proc/self/ns/net"), &to, what, &head, body)
    }
}

/// A port of loopback in a network namespace that leads to the same port outside. It closes with the value.
pub struct Door {
    netns: PathBuf,
    port: u16,
    is_closed: Arc<AtomicBool>,
}

impl Door {
    /// Opens it.
    ///
    /// # Errors
    /// Returns an error if another program listens on the port in that namespace.
    pub fn open(netns: &Path, port: u16) -> anyhow::Result<Self> {
        let listener = traffic::inside(netns, || Ok(TcpListener::bind(("127.0.0.1", port))?))
            .with_context(|| format!("port {port} in {}", netns.display()))?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_closed);
        thread::spawn(move || relay(&listener, port, &shared));
        Ok(Self { netns: netns.to_owned(), port, is_closed })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        // The listener looks up.
        let _ = traffic::inside(&self.netns, || Ok(TcpStream::connect(("127.0.0.1", self.port))?));
    }
}

/// Leads connections to the same port of this process's network namespace.
fn relay(listener: &TcpListener, port: u16, is_closed: &AtomicBool) {
    for client in listener.incoming() {
        if is_closed.load(Ordering::Acquire) {
            return;
        }
        let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port))) else { continue };
        let client = Arc::new(client);
        let server = Arc::new(server);
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (Arc::clone(from), Arc::clone(to));
            thread::spawn(move || {
                // A failure of either side ends the connection.
                let _ = io::copy(&mut &*from, &mut &*to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }
}
