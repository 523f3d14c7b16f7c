//! Calling the daemon: one gRPC call on one connection, with only as much of gRPC as that needs.

use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::{self, SendRequest};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use prost::Message as _;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tenure_rpc::status;
use tenure_rpc::v1::{Answer, Invocation};
use tenure_types::cni::ErrorReport;
use tenure_types::{Error, ErrorCode};

use crate::deadline::Deadline;
use crate::wait::{self, WaitSocket};

/// The most bytes that an answer may have; a result has a few hundred.
const LONGEST_ANSWER: usize = 4 << 20;

/// The length of a message's prefix: the compression flag (1 byte) and the message's length (4 bytes).
const PREFIX: usize = 5;

/// The gRPC status codes that a proxy, a library or an old daemon may return without tenure's details.
const CANCELLED: i32 = 1;
const DEADLINE_EXCEEDED: i32 = 4;
const UNAVAILABLE: i32 = 14;

/// Why nobody answers at a socket.
const NOBODY_LISTENS: &str = "nobody listens on the socket, so tenured has ended";
const NO_SOCKET: &str = "the socket does not exist, so tenured is stopped or still starting";

/// A service of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// For pods.
    Cni,
    /// For pods whose link the daemon makes, too.
    Eni,
    /// For agents, about their own claims.
    AgentCni,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Cni => "tenure.v1.Cni",
            Self::Eni => "tenure.v1.Eni",
            Self::AgentCni => "tenure.v1.AgentCni",
        }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonFailure {
    /// The daemon refused the request.
    #[error("{}", .0.cause)]
    Refused(ErrorReport),
    /// No daemon listens, or it went away before it answered: the next one may answer. Whether this one processed the request is unknown.
    #[error("{0}")]
    Away(String),
    /// The socket cannot be used, or what listens there does not speak the protocol.
    #[error("{0}")]
    Unreachable(String),
    /// The deadline passed.
    #[error("no answer in time")]
    Late,
}

impl DaemonFailure {
    /// Whether the same call may succeed soon. Every call may be repeated: the daemon answers a repeated one as it answered the first.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Away(_) => true,
            Self::Refused(report) => {
                [ErrorCode::Stopping, ErrorCode::Preparing].iter().any(|code| report.reason == code.name())
            }
            Self::Unreachable(_) | Self::Late => false,
        }
    }
}

impl From<h2::Error> for DaemonFailure {
    fn from(error: h2::Error) -> Self {
        // The other errors are about bytes that no daemon sends.
        let is_gone = error.is_io() || error.is_remote();
        let why = format!("the connection failed: {error}");
        if is_gone { Self::Away(why) } else { Self::Unreachable(why) }
    }
}

impl From<io::Error> for DaemonFailure {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// Calls a method of a service.
pub(crate) fn ask(
    path: &Path,
    method: (Service, &str),
    invocation: &Invocation,
    deadline: Deadline,
) -> Result<Answer, DaemonFailure> {
    let socket = WaitSocket::new(connect(path, deadline)?)?;
    let exchange = exchange(socket.clone(), method, invocation, deadline);
    wait::drive(&socket, deadline, exchange)?.ok_or(DaemonFailure::Late)?
}

/// Connects; if the daemon's backlog is full, waits for a place in it.
fn connect(path: &Path, deadline: Deadline) -> Result<UnixStream, DaemonFailure> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
    let remaining = deadline.remaining().ok_or(DaemonFailure::Late)?;
    set_socket_timeout(&socket, Timeout::Send, Some(remaining)).map_err(io::Error::from)?;
    let address = SocketAddrUnix::new(path).map_err(io::Error::from)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => Ok(UnixStream::from(socket)),
        Err(rustix::io::Errno::AGAIN) => Err(DaemonFailure::Late),
        Err(rustix::io::Errno::CONNREFUSED) => Err(DaemonFailure::Away(NOBODY_LISTENS.to_owned())),
        Err(rustix::io::Errno::NOENT) => Err(DaemonFailure::Away(NO_SOCKET.to_owned())),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

async fn exchange(
    socket: WaitSocket,
    method: (Service, &str),
    invocation: &Invocation,
    deadline: Deadline,
) -> Result<Answer, DaemonFailure> {
    let (sender, connection) = client::Builder::new().enable_push(false).handshake(socket).await?;
    let mut connection = pin!(connection);
    let mut call = pin!(call(sender, method, invocation, deadline));
    // The call progresses only with the connection, and the answer may have arrived before the connection broke.
    poll_fn(|context| {
        if let Poll::Ready(answer) = call.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        let Poll::Ready(ended) = connection.as_mut().poll(context) else { return Poll::Pending };
        let answer = call.as_mut().poll(context);
        let closed = || DaemonFailure::Away("the daemon closed the connection".to_owned());
        if answer.is_ready() {
            answer
        } else {
            Poll::Ready(Err(ended.err().map_or_else(closed, DaemonFailure::from)))
        }
    })
    .await
}

async fn call(
    sender: SendRequest<Bytes>,
    method: (Service, &str),
    invocation: &Invocation,
    deadline: Deadline,
) -> Result<Answer, DaemonFailure> {
    let mut sender = sender.ready().await?;
    let (response, mut body) = sender.send_request(request(method, deadline)?, false)?;
    body.send_data(framed(invocation)?, true)?;

    let (head, mut body) = response.await?.into_parts();
    let head = Response::from_parts(head, ());
    if head.status() != StatusCode::OK {
        return Err(garbage(format_args!("HTTP status {}", head.status())));
    }
    let mut message = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        message.extend_from_slice(&chunk);
        if message.len() > LONGEST_ANSWER {
            return Err(garbage("it is too long"));
        }
    }
    // An answer without a message has its status in the headers.
    let trailers = body.trailers().await?;
    check_status(trailers.as_ref().unwrap_or(head.headers()))?;
    unframed(&message)
}

fn request((service, method): (Service, &str), deadline: Deadline) -> Result<Request<()>, DaemonFailure> {
    let remaining = deadline.remaining().ok_or(DaemonFailure::Late)?;
    Request::builder()
        .version(Version::HTTP_2)
        .method(Method::POST)
        .uri(format!("http://localhost/{}/{method}", service.name()))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        // At most eight digits are allowed; an hour has seven.
        .header("grpc-timeout", format!("{}m", remaining.as_millis().max(1)))
        .body(())
        .map_err(|error| DaemonFailure::Unreachable(error.to_string()))
}

fn framed(invocation: &Invocation) -> Result<Bytes, DaemonFailure> {
    let length = invocation.encoded_len();
    let announced = u32::try_from(length).map_err(|_| garbage("the request is too long"))?;
    let mut bytes = BytesMut::with_capacity(PREFIX + length);
    bytes.put_u8(0);
    bytes.put_u32(announced);
    bytes.put_slice(&invocation.encode_to_vec());
    Ok(bytes.freeze())
}

fn unframed(bytes: &[u8]) -> Result<Answer, DaemonFailure> {
    match bytes.split_first_chunk::<PREFIX>() {
        Some((&[0, a, b, c, d], message)) if u32::from_be_bytes([a, b, c, d]) as usize == message.len() => {
            Answer::decode(message).map_err(garbage)
        }
        _ => Err(garbage("its message is malformed")),
    }
}

/// Checks the call's gRPC status.
fn check_status(headers: &HeaderMap) -> Result<(), DaemonFailure> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let code = text("grpc-status").and_then(|code| code.parse::<i32>().ok());
    let code = code.ok_or_else(|| garbage("it has no status"))?;
    if code == 0 {
        return Ok(());
    }
    let details = text("grpc-status-details-bin").and_then(|details| base64().decode(details).ok());
    if let Some(report) = details.and_then(|details| status::report(&details)) {
        return Err(DaemonFailure::Refused(report));
    }
    let message =
        percent_encoding::percent_decode_str(text("grpc-message").unwrap_or_default()).decode_utf8_lossy();
    Err(match code {
        CANCELLED | DEADLINE_EXCEEDED => DaemonFailure::Late,
        UNAVAILABLE => DaemonFailure::Away(message.into_owned()),
        code => {
            let cause = format!("the daemon answered with gRPC status {code}: {message}");
            DaemonFailure::Refused(ErrorReport::from(&Error::new(ErrorCode::Internal, cause)))
        }
    })
}

/// gRPC sends base64 without padding, and must accept it with or without.
fn base64() -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&alphabet::STANDARD, config)
}

fn garbage(why: impl std::fmt::Display) -> DaemonFailure {
    DaemonFailure::Unreachable(format!("the daemon's answer is invalid: {why}"))
}
