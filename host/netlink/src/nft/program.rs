//! The program `nft`, which is needed only where something is translated or marked.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::listing;
use super::script;
use super::table::{NAME, Shape, Table};
use crate::error::Error;

/// Reads our table; `None` if there is none, or no program that could have made one.
pub(crate) async fn read() -> Result<Option<Shape>, Error> {
    let answer = match run(&["--json", "--numeric-priority", "list", "table", "ip", NAME], "").await {
        Err(Error::NoNft(_)) => return Ok(None),
        answer => answer?,
    };
    match answer {
        Ok(text) => {
            listing::read(&text).map(Some).ok_or(Error::Nft("its listing is not understood".to_owned()))
        }
        Err(text) if text.contains("No such file or directory") => Ok(None),
        Err(text) => Err(Error::Nft(text)),
    }
}

/// Makes our table what it shall be, in one transaction.
pub(crate) async fn replace(table: &Table) -> Result<(), Error> {
    run(&["--file", "-"], &script::replace(table)).await?.map(drop).map_err(Error::Nft)
}

/// Removes our table.
pub(crate) async fn remove() -> Result<(), Error> {
    run(&["--file", "-"], &script::remove()).await?.map(drop).map_err(Error::Nft)
}

/// Runs the program in the calling thread's network namespace; the inner error is what it complained about.
async fn run(arguments: &[&str], input: &str) -> Result<Result<String, String>, Error> {
    let mut command = Command::new("nft");
    command.args(arguments).env("LC_ALL", "C").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NoNft(source),
        _ => Error::Io { what: "run nft".to_owned(), source },
    };
    let mut child = command.spawn().map_err(failed)?;
    let mut stdin = child.stdin.take();
    let feed = async {
        if let Some(stdin) = stdin.as_mut() {
            // A program that ends early says why itself.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        drop(stdin.take());
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}
