//! The metadata service, version 2.
//!
//! ```text
//!              ┌──── no token ────▶ PUT token ──┐
//!  read ──────▶│                                ├──▶ GET ──▶ 200: the text
//!              └──── a token ───────────────────┘     │ └──▶ 404: there is no such field
//!                    ▲                                │
//!                    └──── 401: forget it ◀───────────┘
//! ```
//!
//! In the first moments of an instance, the service refuses connections and even tokens. So what could be over in a second is
//! tried again for a second or so; a caller that needs longer decides that itself. A hint is not tried again: it has its next turn soon.
//! All requests use one connection for as long as the service keeps it.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use ipnet::IpNet;

use super::MetadataError;
use super::door::{Answer, ENDPOINT, InvalidEndpoint, KeptConnection, ServiceAddress};
use super::token::{self, Token};
use crate::identity::Identity;

/// How often a request is sent in all.
const ATTEMPTS: u32 = 5;

/// The pause after the first attempt; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The path that everything is below.
const DATA: &str = "/latest/meta-data";

/// The path of the list of interfaces, below which each has its fields.
pub(super) const MACS: &str = "/latest/meta-data/network/interfaces/macs/";

/// The metadata service of this instance.
#[derive(Debug)]
pub struct Imds {
    door: ServiceAddress,
    kept: KeptConnection,
    token: Token,
}

/// The result of an attempt.
enum Attempt {
    Read(Option<String>),
    Again(String),
    Failed(u16),
}

impl Imds {
    /// The service at an address as a URL; without one, at that of the environment's [`ENDPOINT`], or at the link-local one.
    ///
    /// # Errors
    /// When the address is not a plain HTTP URL.
    pub fn new(endpoint: Option<&str>) -> Result<Self, InvalidEndpoint> {
        let environment = std::env::var(ENDPOINT).ok();
        let door = ServiceAddress::new(endpoint, environment.as_deref())?;
        Ok(Self { door, kept: KeptConnection::default(), token: Token::default() })
    }

    /// The text of a field; `None` if there is none.
    async fn read(&self, path: &str) -> Result<Option<String>, MetadataError> {
        let mut pause = PAUSE;
        let mut reason = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            match self.attempt(path).await {
                Attempt::Read(found) => return Ok(found),
                Attempt::Failed(status) => {
                    return Err(MetadataError::Refused { path: path.to_owned(), status });
                }
                Attempt::Again(why) => reason = why,
            }
        }
        Err(MetadataError::Unreachable { path: path.to_owned(), reason })
    }

    /// Reads once; with a kept token that has expired, once more with a new one.
    async fn attempt(&self, path: &str) -> Attempt {
        if let Some(kept) = self.token.get() {
            match self.get(path, &kept).await {
                Ok(answer) if answer.status == 401 => self.token.refused(&kept),
                answer => return outcome(answer),
            }
        }
        let token = match self.door.ask(&self.kept, Method::PUT, token::PATH, token::LIFE).await {
            Ok(answer) if answer.status == 200 => self.token.set(&answer.text),
            Ok(Answer { status: 404, .. }) => return Attempt::Failed(404),
            answer => return outcome(answer),
        };
        let answer = self.get(path, &token).await;
        if answer.as_ref().is_ok_and(|answer| answer.status == 401) {
            self.token.refused(&token);
        }
        outcome(answer)
    }

    async fn get(&self, path: &str, token: &Arc<str>) -> Result<Answer, String> {
        self.door.ask(&self.kept, Method::GET, path, (token::HEADER, token)).await
    }

    /// A field that every instance has.
    async fn required(&self, path: &str) -> Result<String, MetadataError> {
        self.text(path).await?.ok_or_else(|| MetadataError::Missing(path.to_owned()))
    }

    /// The lines of one field or list, asked for once.
    pub(super) async fn lines_once(&self, path: &str) -> Result<BTreeSet<String>, MetadataError> {
        let path = path.to_owned();
        match self.attempt(&path).await {
            Attempt::Read(found) => Ok(lines(&found.unwrap_or_default()).collect()),
            Attempt::Failed(status) => Err(MetadataError::Refused { path, status }),
            Attempt::Again(reason) => Err(MetadataError::Unreachable { path, reason }),
        }
    }

    /// The instance's id.
    pub(super) async fn instance(&self) -> Result<String, MetadataError> {
        self.required(&format!("{DATA}/instance-id")).await
    }

    /// The text of a field that may be absent.
    pub(super) async fn text(&self, path: &str) -> Result<Option<String>, MetadataError> {
        let found = self.read(path).await?.map(|text| text.trim().to_owned());
        Ok(found.filter(|text| !text.is_empty()))
    }

    /// The lines of a field; an absent one has none.
    pub(super) async fn lines(&self, path: &str) -> Result<Vec<String>, MetadataError> {
        Ok(lines(&self.read(path).await?.unwrap_or_default()).collect())
    }

    /// The lines of a field as values; an absent one has none.
    pub(super) async fn parsed<T: FromStr>(&self, path: &str) -> Result<Vec<T>, MetadataError> {
        let lines = self.lines(path).await?.into_iter();
        let parsed = lines
            .map(|value| value.parse().map_err(|_| MetadataError::Invalid { path: path.to_owned(), value }));
        parsed.collect()
    }

    /// Reads the identity, field by field.
    pub(super) async fn read_identity(&self) -> Result<Identity, MetadataError> {
        let mac = self.required(&format!("{DATA}/mac")).await?.to_ascii_lowercase();
        let field = |name: &str| format!("{DATA}/network/interfaces/macs/{mac}/{name}");
        let blocks = field("vpc-ipv4-cidr-blocks");
        let mut ranges: Vec<IpNet> = self.parsed(&blocks).await?;
        if ranges.is_empty() {
            // Every VPC has one. Without any, packets within the VPC would be translated.
            return Err(MetadataError::Missing(blocks));
        }
        ranges.extend(self.parsed::<IpNet>(&field("vpc-ipv6-cidr-blocks")).await?);
        Ok(Identity {
            instance: self.instance().await?,
            instance_type: self.required(&format!("{DATA}/instance-type")).await?,
            region: self.required(&format!("{DATA}/placement/region")).await?,
            zone: self.required(&format!("{DATA}/placement/availability-zone")).await?,
            vpc: self.required(&field("vpc-id")).await?,
            subnet: self.required(&field("subnet-id")).await?,
            groups: self.lines(&field("security-group-ids")).await?,
            ranges,
            mac,
        })
    }
}

/// The lines of a text that say something.
fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// Interprets an answer. The service also returns 401 in early boot, and 429 when it is asked too often.
fn outcome(answer: Result<Answer, String>) -> Attempt {
    match answer {
        Ok(Answer { status: 200, text }) => Attempt::Read(Some(text)),
        Ok(Answer { status: 404, .. }) => Attempt::Read(None),
        Ok(Answer { status: status @ (401 | 408 | 429 | 500..), .. }) => {
            Attempt::Again(format!("HTTP status {status}"))
        }
        Ok(Answer { status, .. }) => Attempt::Failed(status),
        Err(reason) => Attempt::Again(reason),
    }
}
