//! A registry that answers as a test tells it to, right or wrong.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The size of a piece of an endless answer, in bytes.
const PIECE: usize = 256 << 10;

/// An answer to a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A status, further header lines, and a body with its length.
    Whole(u16, String, Vec<u8>),
    /// A status and header lines, then bytes for as long as they are taken.
    Endless(u16, String),
    /// A body that ends before its announced length.
    Half(Vec<u8>),
    /// Nothing, for as long as the client waits.
    Silence,
}

/// A function from a path to the server's answer.
type Told = dyn Fn(&str) -> Answer + Send + Sync;

/// A lying registry; it ends with the test's process.
#[derive(Debug)]
pub struct Liar {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Liar {
    /// Starts a server that answers each path as a function says.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn start(told: impl Fn(&str) -> Answer + Send + Sync + 'static) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (told, seen): (Arc<Told>, _) = (Arc::new(told), Arc::clone(&heads));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (told, seen) = (Arc::clone(&told), Arc::clone(&seen));
                // The client may be gone at any time.
                thread::spawn(move || drop(answer(connection, told.as_ref(), &seen)));
            }
        });
        Ok(Self { address, heads })
    }

    /// Returns the address and port of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The heads of the requests so far.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut connection: TcpStream, told: &Told, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if connection.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(head);
    let start = |status: u16| format!("HTTP/1.1 {status} told\r\nConnection: close\r\n");
    match told(&path) {
        Answer::Whole(status, headers, body) => {
            let head = format!("{}{headers}Content-Length: {}\r\n\r\n", start(status), body.len());
            connection.write_all(head.as_bytes())?;
            connection.write_all(&body)
        }
        Answer::Half(body) => {
            let head = format!("{}Content-Length: {}\r\n\r\n", start(200), body.len());
            connection.write_all(head.as_bytes())?;
            connection.write_all(body.get(..body.len() / 2).unwrap_or_default())?;
            connection.shutdown(Shutdown::Both)
        }
        Answer::Endless(status, headers) => {
            connection.write_all(format!("{}{headers}\r\n", start(status)).as_bytes())?;
            loop {
                connection.write_all(&[b'x'; PIECE])?;
            }
        }
        // Until the client closes its end.
        Answer::Silence => connection.read(&mut byte).map(drop),
    }
}
