//! A connection to the kernel of one network namespace: the one that its thread was in when it was made.

use std::io;

use futures_util::StreamExt as _;
use rtnetlink::packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage;

use crate::error::Error;

/// The flag of a dump that something changed meanwhile (NLM_F_DUMP_INTR).
const INTERRUPTED: u16 = 0x10;
/// How often a dump is repeated that something changed during.
const ATTEMPTS: usize = 20;

/// A connection to the kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    handle: rtnetlink::Handle,
}

impl Kernel {
    /// Connects to the kernel of the calling thread's network namespace. The current tokio runtime carries the connection, which
    /// ends with the last clone of this.
    ///
    /// # Errors
    /// When the kernel gives no socket.
    pub fn connect() -> Result<Self, Error> {
        let (connection, handle, _) = rtnetlink::new_connection()
            .map_err(|source| Error::Io { what: "connect to the kernel by netlink".to_owned(), source })?;
        tokio::spawn(connection);
        Ok(Self { handle })
    }

    /// Asks for a change, and waits until it is made.
    pub(crate) async fn request(
        &self,
        what: impl std::fmt::Display + Send,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), Error> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut answers = self.send(&what, request)?;
        while let Some(answer) = answers.next().await {
            if let Some(source) = failure(&answer) {
                return Err(Error::Kernel { what: what.to_string(), source });
            }
        }
        Ok(())
    }

    /// Asks for one thing.
    pub(crate) async fn ask(
        &self,
        what: &str,
        message: RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, Error> {
        self.collect(what, message, NLM_F_REQUEST, usize::MAX, Some).await.map(|(all, _)| all)
    }

    /// Asks for everything of a kind, at one moment.
    pub(crate) async fn dump(
        &self,
        what: &str,
        message: RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, Error> {
        self.gather(what, message, usize::MAX, Some).await
    }

    /// Asks for everything of a kind, at one moment, and keeps only what is read of it: where a pod chooses how much there is, that
    /// does not fill memory, and more than `most` are not looked at.
    pub(crate) async fn gather<T>(
        &self,
        what: &str,
        message: RouteNetlinkMessage,
        most: usize,
        read: impl Fn(RouteNetlinkMessage) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let flags = NLM_F_REQUEST | NLM_F_DUMP;
        for _ in 0..ATTEMPTS {
            let (all, steady) = self.collect(what, message.clone(), flags, most, &read).await?;
            if steady {
                return Ok(all);
            }
        }
        Err(Error::Unsteady(what.to_owned()))
    }

    /// Collects the answers to a question, and tells whether they are of one moment.
    async fn collect<T>(
        &self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
        most: usize,
        read: impl Fn(RouteNetlinkMessage) -> Option<T>,
    ) -> Result<(Vec<T>, bool), Error> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = flags;
        let mut answers = self.send(&what, request)?;
        let (mut all, mut steady, mut count) = (Vec::new(), true, 0_usize);
        while let Some(answer) = answers.next().await {
            if let Some(source) = failure(&answer) {
                return Err(Error::Kernel { what: what.to_owned(), source });
            }
            steady &= answer.header.flags & INTERRUPTED == 0;
            if let NetlinkPayload::InnerMessage(message) = answer.payload {
                count += 1;
                if count > most {
                    return Err(Error::TooMany { what: what.to_owned(), most });
                }
                all.extend(read(message));
            }
        }
        Ok((all, steady))
    }

    fn send(
        &self,
        what: &dyn std::fmt::Display,
        request: NetlinkMessage<RouteNetlinkMessage>,
    ) -> Result<impl futures_util::Stream<Item = NetlinkMessage<RouteNetlinkMessage>> + use<>, Error> {
        self.handle.clone().request(request).map_err(|_| Error::Kernel {
            what: what.to_string(),
            source: io::Error::from(io::ErrorKind::NotConnected),
        })
    }
}

/// The error with which the kernel refused.
fn failure(answer: &NetlinkMessage<RouteNetlinkMessage>) -> Option<io::Error> {
    match &answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Some(error.to_io()),
        _ => None,
    }
}
