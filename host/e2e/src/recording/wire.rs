//! gRPC at the level of messages: the bytes of each message and the final status, over HTTP/2 on a unix socket.
//!
//! Nothing here knows what a message means, so recorded bytes are passed on and repeated unchanged.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Version};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::net::{UnixListener, UnixStream};

/// Before each message: whether it is compressed, and its length.
const PREFIX: usize = 5;
/// No call takes longer unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// One message of a protocol, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(pub Vec<u8>);

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

/// A call: all that a client sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The path, `/package.Service/Method`.
    pub method: String,
    /// The messages, one for each part of a stream.
    pub sent: Vec<Message>,
}

/// An answer: all that a server sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The messages, one for each part of a stream.
    pub messages: Vec<Message>,
    /// How the call ended.
    pub status: Status,
}

/// A call with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The request.
    #[serde(flatten)]
    pub call: Call,
    /// The response to it.
    pub answer: Answer,
}

/// The final status, with its headers as they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// `grpc-status`.
    pub code: i32,
    /// `grpc-message`, percent-encoded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// `grpc-status-details-bin`, in base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// Whether it came in the head of the answer, with nothing behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_head: bool,
}

impl Status {
    /// The status of a server that does not have the method.
    #[must_use]
    pub fn unimplemented() -> Self {
        Self { code: 12, in_head: true, ..Self::default() }
    }

    fn read(headers: &HeaderMap, in_head: bool) -> anyhow::Result<Self> {
        let text = |name| headers.get(name).map(HeaderValue::to_str).transpose();
        let code = text("grpc-status")?.context("an answer without a status")?.parse()?;
        let message = text("grpc-message")?.unwrap_or_default().to_owned();
        let details = text("grpc-status-details-bin")?.unwrap_or_default().to_owned();
        Ok(Self { code, message, details, in_head })
    }

    fn write(&self, headers: &mut HeaderMap) -> anyhow::Result<()> {
        headers.insert("grpc-status", self.code.into());
        for (name, text) in [("grpc-message", &self.message), ("grpc-status-details-bin", &self.details)] {
            if !text.is_empty() {
                headers.insert(name, text.parse()?);
            }
        }
        Ok(())
    }
}

/// Calls a method of the server behind a socket.
///
/// # Errors
/// When there is no complete answer; an answer that refuses is an answer.
pub async fn ask(socket: &Path, call: &Call) -> anyhow::Result<Answer> {
    let answer = async {
        let stream = UnixStream::connect(socket).await?;
        let (sender, connection) = h2::client::handshake(stream).await?;
        let connection = tokio::spawn(connection);
        let answer = exchange(sender, call).await;
        // Closed before this returns: a daemon that stops waits for open connections.
        connection.abort();
        let _ = connection.await;
        answer
    };
    let answered = tokio::time::timeout(LIMIT, answer).await.context("no answer in time");
    answered.flatten().with_context(|| format!("{} at {}", call.method, socket.display()))
}

async fn exchange(sender: h2::client::SendRequest<Bytes>, call: &Call) -> anyhow::Result<Answer> {
    let mut sender = sender.ready().await?;
    let request = Request::builder()
        .version(Version::HTTP_2)
        .method(Method::POST)
        .uri(format!("http://localhost{}", call.method))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())?;
    let (response, mut body) = sender.send_request(request, false)?;
    body.send_data(framed(&call.sent)?, true)?;
    let (head, mut body) = response.await?.into_parts();
    ensure!(head.status == http::StatusCode::OK, "HTTP status {}", head.status);
    let messages = unframed(&read(&mut body).await?)?;
    let status = match body.trailers().await? {
        Some(trailers) => Status::read(&trailers, false)?,
        None => Status::read(&head.headers, true)?,
    };
    Ok(Answer { messages, status })
}

/// Answers calls.
pub trait Answers: Send + Sync + 'static {
    /// Answers one call.
    fn answer(&self, call: Call) -> impl Future<Output = anyhow::Result<Answer>> + Send;
}

/// Listens on a socket and has every call answered, until the runtime ends. Needs a tokio runtime.
///
/// # Errors
/// When the socket cannot be created.
pub fn serve(socket: &Path, answers: &Arc<impl Answers>) -> anyhow::Result<()> {
    let listener = UnixListener::bind(socket).with_context(|| socket.display().to_string())?;
    let answers = Arc::clone(answers);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, Arc::clone(&answers)));
        }
    });
    Ok(())
}

async fn connection(stream: UnixStream, answers: Arc<impl Answers>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    // A client may close the connection whenever it likes.
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(reply(request, respond, Arc::clone(&answers)));
    }
}

async fn reply(
    mut request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    answers: Arc<impl Answers>,
) -> anyhow::Result<()> {
    let method = request.uri().path().to_owned();
    let sent = unframed(&read(request.body_mut()).await?)?;
    let Answer { messages, status } = answers.answer(Call { method, sent }).await?;
    let mut head = Response::builder().header("content-type", "application/grpc").body(())?;
    if status.in_head {
        status.write(head.headers_mut())?;
        respond.send_response(head, true)?;
        return Ok(());
    }
    let mut body = respond.send_response(head, false)?;
    body.send_data(framed(&messages)?, false)?;
    let mut trailers = HeaderMap::new();
    status.write(&mut trailers)?;
    Ok(body.send_trailers(trailers)?)
}

async fn read(body: &mut RecvStream) -> anyhow::Result<BytesMut> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn framed(messages: &[Message]) -> anyhow::Result<Bytes> {
    let mut bytes = BytesMut::new();
    for Message(message) in messages {
        bytes.put_u8(0);
        bytes.put_u32(message.len().try_into()?);
        bytes.put_slice(message);
    }
    Ok(bytes.freeze())
}

fn unframed(mut bytes: &[u8]) -> anyhow::Result<Vec<Message>> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX>() {
        let [0, length @ ..] = *prefix else { bail!("a compressed message") };
        let length = u32::from_be_bytes(length).try_into()?;
        let (message, rest) = rest.split_at_checked(length).context("a message that was cut off")?;
        messages.push(Message(message.to_vec()));
        bytes = rest;
    }
    ensure!(bytes.is_empty(), "a message that was cut off");
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_framed_comes_back_and_what_is_cut_off_is_seen() {
        let messages = vec![Message(b"one".to_vec()), Message(Vec::new()), Message(vec![0; 300])];
        let bytes = framed(&messages).unwrap();
        assert_eq!(unframed(&bytes).unwrap(), messages);
        for length in [1, 4, 5, 7, bytes.len() - 1] {
            assert!(unframed(&bytes[..length]).is_err(), "{length}");
        }
        assert_eq!(unframed(b"").unwrap(), []);
    }
}
