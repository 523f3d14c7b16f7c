//! Whether the API server can be reached from a pod. The rights there are asked about by the daemon, which has the credentials.

use std::ffi::OsStr;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::report::NodeCheck;

/// The variables by which a kubelet tells a container where the API server is.
pub(super) const VARIABLES: [&str; 2] = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];

/// The longest that a connection may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Connects to the API server by the values of the variables, if there are any.
pub(super) fn reached(host: Option<&OsStr>, port: Option<&OsStr>) -> NodeCheck {
    const NAME: &str = "api-server";
    let (Some(host), Some(port)) = (host.and_then(OsStr::to_str), port.and_then(OsStr::to_str)) else {
        return NodeCheck::skipped(NAME, "not in a pod: no API server is named in the environment");
    };
    let named = format!("{host} port {port}");
    match connect(host, port) {
        Ok(()) => NodeCheck::fine(NAME, format!("{named} accepts connections")),
        Err(error) => NodeCheck::problem(
            NAME,
            format!("{named}: {error}"),
            "check the node's way to the service `kubernetes`, which kube-proxy makes, or name the API server in the chart's cluster.apiServer",
        ),
    }
}

fn connect(host: &str, port: &str) -> io::Result<()> {
    let port: u16 = port.parse().map_err(|_| io::Error::other("not a port"))?;
    let mut last = io::Error::other("no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::report::CheckVerdict;

    #[test]
    fn a_listener_is_reached_and_then_it_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let verdict = || reached(Some("127.0.0.1".as_ref()), Some(port.as_ref())).verdict;
        assert_eq!(verdict(), CheckVerdict::Fine);
        drop(listener);
        assert_eq!(verdict(), CheckVerdict::Problem);
        assert_eq!(reached(Some("127.0.0.1".as_ref()), Some("x".as_ref())).verdict, CheckVerdict::Problem);
        assert_eq!(reached(None, None).verdict, CheckVerdict::Skipped);
    }
}
