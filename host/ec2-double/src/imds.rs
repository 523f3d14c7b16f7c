//! The instance metadata service, version 2, of one instance. It shows the account as of some time ago.

mod credentials;
mod entries;
mod tokens;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Method;

use crate::clock::wall_clock;
use crate::faults::Kind;
use crate::http::{Answer, Asked, Fate, Service};
use crate::journal::{Call, Face, Told};
use crate::state::{Phase, Time};
use crate::world::{Shared, World};

use entries::Entries;
use tokens::Tokens;

/// The path below which everything needs a token.
const TOKEN: &str = "/latest/api/token";

/// The longest life of a token, in seconds.
const LONGEST: u64 = 21_600;

/// The packets per second that a link-local service takes from an instance.
const PACKETS: u64 = 1024;

/// The packets of a request: a connection, the question, the answer, and the end, each way.
const PACKETS_OF_REQUEST: u64 = 8;

/// The metadata service of an instance.
#[derive(Debug)]
pub(crate) struct Imds {
    shared: Arc<Shared>,
    instance: String,
    /// Locked only while a request is answered from memory.
    session: Mutex<Session>,
}

#[derive(Debug, Default)]
struct Session {
    tokens: Tokens,
    /// How often the list of MACs was read: flapping interfaces are in every second one.
    lists: u64,
    /// The second in which packets were counted last, and how many there were.
    packets: (u64, u64),
}

impl Imds {
    pub(crate) fn new(shared: Arc<Shared>, instance: String) -> Self {
        Self { shared, instance, session: Mutex::default() }
    }

    /// Answers from memory, and writes the call down.
    fn apply(&self, asked: &Asked, fault: Option<&Kind>) -> Answer {
        self.shared.with(|world, now| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            let is_running = world
                .state
                .instances()
                .get(&self.instance)
                .is_some_and(|instance| matches!(instance.phase, Phase::Pending | Phase::Running));
            let has_packets = !world.state.rules.imds_packets || session.admit(now);
            let mut answer = match fault {
                Some(Kind::Code { message, status, .. }) => Answer::new(*status, TEXT, message.clone()),
                _ => self.result(asked, world, &mut session, now),
            };
            if !is_running || !has_packets {
                answer.fate = Fate::Lost;
            }
            let is_lost = answer.fate == Fate::Lost
                || matches!(fault, Some(Kind::LostBefore | Kind::LostAfter | Kind::Reset | Kind::HalfBody));
            let call = Call {
                face: Face::Imds,
                caller: self.instance.clone(),
                call: asked.path.clone(),
                parameters: BTreeMap::new(),
                refused: (answer.status != 200).then(|| answer.status.to_string()),
                told: if is_lost { Told::Nothing } else { Told::Answer },
            };
            self.shared.record(world, call, now);
            answer
        })
    }

    fn result(&self, asked: &Asked, world: &mut World, session: &mut Session, now: Time) -> Answer {
        if asked.path == TOKEN {
            return token(asked, world, session, now);
        }
        if asked.method != Method::GET {
            return error(405, "Method Not Allowed");
        }
        if !session.tokens.knows(asked.header("x-aws-ec2-metadata-token"), now) {
            return error(401, "Unauthorized");
        }
        if asked.path.trim_end_matches('/').ends_with("/network/interfaces/macs") {
            session.lists += 1;
        }
        let is_away = session.lists > 0 && session.lists.is_multiple_of(2);
        let entries = Entries::of(&self.instance, &world.state, now, is_away, wall_clock());
        match entries.get(&asked.path) {
            Some(text) => Answer::new(200, TEXT, text),
            None => error(404, "Not Found"),
        }
    }
}

/// The media type of every entry.
const TEXT: &str = "text/plain";

/// Gives a token out.
fn token(asked: &Asked, world: &mut World, session: &mut Session, now: Time) -> Answer {
    if asked.method != Method::PUT {
        return error(405, "Method Not Allowed");
    }
    if asked.headers.contains_key("x-forwarded-for") {
        return error(403, "Forbidden");
    }
    let seconds = asked.header(TTL).parse::<u64>().ok().filter(|seconds| (1..=LONGEST).contains(seconds));
    let Some(seconds) = seconds else { return error(400, "Bad Request") };
    let token = world.state.new_id("token");
    session.tokens.add(token.clone(), now, seconds);
    let mut answer = Answer::new(200, TEXT, token);
    answer.headers.push((TTL, seconds.to_string()));
    answer
}

/// The header with a token's life in seconds, of the question and of the answer.
const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";

fn error(status: u16, reason: &str) -> Answer {
    let body = format!(
        "<html><head><title>{status} - {reason}</title></head><body>{status} - {reason}</body></html>"
    );
    Answer::new(status, "text/html", body)
}

impl Session {
    /// Counts a request's packets; `false` if the second has had too many.
    fn admit(&mut self, now: Time) -> bool {
        let second = now.millis() / 1000;
        if self.packets.0 != second {
            self.packets = (second, 0);
        }
        self.packets.1 += PACKETS_OF_REQUEST;
        self.packets.1 <= PACKETS
    }
}

impl Service for Imds {
    async fn answer(&self, asked: Asked) -> Answer {
        let path = asked.path.clone();
        let fault = self.shared.strike(&path).await;
        let mut answer = self.apply(&asked, fault.as_ref());
        match fault {
            Some(Kind::DelayAfter { delay_ms }) => {
                self.shared.hold(&path, true, delay_ms).await;
            }
            Some(Kind::LostBefore | Kind::LostAfter) => answer.fate = Fate::Lost,
            Some(Kind::Reset) => answer.fate = Fate::Reset,
            Some(Kind::HalfBody) => answer.fate = Fate::Half,
            Some(Kind::WrongXml) => answer.body = b"<html><body>502 Bad Gateway</html>".to_vec(),
            Some(Kind::Code { .. } | Kind::DelayBefore { .. }) | None => {}
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_room_for_128_requests() {
        let mut session = Session::default();
        let admitted = |session: &mut Session, at: u64| {
            (0..1000).take_while(|_| session.admit(Time::from_millis(at))).count()
        };
        assert_eq!(admitted(&mut session, 1000), 128);
        assert_eq!(admitted(&mut session, 1999), 0);
        assert_eq!(admitted(&mut session, 2000), 128);
    }
}
