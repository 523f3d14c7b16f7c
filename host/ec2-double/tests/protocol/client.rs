//! A small HTTP client that shows what arrived, however little.

use std::io;
use std::net::SocketAddr;

use tenure_ec2_double::Double;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The reply as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
}

impl Reply {
    /// The texts of all elements of a name.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        self.body.split(&open).skip(1).filter_map(|rest| rest.split(&close).next()).collect()
    }

    /// The text of the first element of a name.
    pub(crate) fn one(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or_else(|| panic!("there is no {name} in {}", self.body))
    }

    /// The error's code.
    pub(crate) fn code(&self) -> &str {
        self.one("Code")
    }
}

/// Sends a request; an error if no whole reply arrived.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &str,
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(address).await?;
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(text.as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "no whole reply");
    let (headers, body) = reply.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    let headers = headers.to_ascii_lowercase();
    let length =
        headers.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    if length.is_some_and(|length| length != body.len()) {
        return Err(cut());
    }
    Ok(Reply { status, body: body.to_owned(), headers })
}

/// Calls EC2 with the credentials of an access key. The parameters are a form, such as `A=b&C=d`.
pub(crate) async fn call_as(double: &Double, key: &str, action: &str, parameters: &str) -> io::Result<Reply> {
    let now = jiff::Timestamp::now();
    let scope = format!("{key}/{}/eu-central-1/ec2/aws4_request", now.strftime("%Y%m%d"));
    let signature = "0".repeat(64);
    let headers = [
        ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ("x-amz-date", now.strftime("%Y%m%dT%H%M%SZ").to_string()),
        (
            "authorization",
            format!(
                "AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={signature}"
            ),
        ),
    ];
    let body = format!("Action={action}&Version=2016-11-15&{parameters}");
    send(double.ec2(), "POST", "/", &headers, body.trim_end_matches('&')).await
}

/// Calls EC2.
pub(crate) async fn call(double: &Double, action: &str, parameters: &str) -> Reply {
    call_as(double, "AKIATEST", action, parameters).await.unwrap()
}

/// Creates an interface in the first subnet, and attaches it.
pub(crate) async fn attached(double: &Double, instance: &str, device: u32) -> (String, String) {
    let created = call(double, "CreateNetworkInterface", "SubnetId=subnet-00000000000000000").await;
    let id = created.one("networkInterfaceId").to_owned();
    let place =
        format!("NetworkInterfaceId={id}&InstanceId={instance}&DeviceIndex={device}&NetworkCardIndex=0");
    let attached = call(double, "AttachNetworkInterface", &place).await;
    (id, attached.one("attachmentId").to_owned())
}
