//! The program `nft`, which is needed only where something is translated or marked.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::listing;
use super::script;
use super::table::{NAME, NftTable, Shape};
use crate::error::Error;

/// The longest that it may run: many times what it takes for the largest table.
const LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of its output that are read.
const MOST: u64 = 16 << 20;

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

/// Replaces our table, in one transaction.
pub(crate) async fn replace(table: &NftTable) -> Result<(), Error> {
    run(&["--file", "-"], &script::replace(table)).await?.map(drop).map_err(Error::Nft)
}

/// Removes our table.
pub(crate) async fn remove() -> Result<(), Error> {
    run(&["--file", "-"], &script::remove()).await?.map(drop).map_err(Error::Nft)
}

/// Runs the program in the calling thread's network namespace; the inner error is what it complained about.
async fn run(arguments: &[&str], input: &str) -> Result<Result<String, String>, Error> {
    let mut command = Command::new("nft");
    command.args(arguments).env("LC_ALL", "C");
    within_limit(command, input).await
}

async fn within_limit(command: Command, input: &str) -> Result<Result<String, String>, Error> {
    // Dropped with its future, it is killed.
    let answer = timeout(LIMIT, converse(command, input)).await;
    answer.unwrap_or_else(|_| Err(Error::TooSlow("run nft".to_owned())))
}

/// Gives a program its input and reads its output, of which no more is kept than the largest table needs.
async fn converse(mut command: Command, input: &str) -> Result<Result<String, String>, Error> {
    command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NoNft(source),
        _ => Error::Io { what: "run nft".to_owned(), source },
    };
    let mut child = command.spawn().map_err(failed)?;
    let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(stdin) = stdin.as_mut() {
            // A program that ends early says why itself.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        drop(stdin.take());
    };
    let ((), output, complaint) = tokio::join!(feed, read_all(stdout), read_all(stderr));
    let status = child.wait().await.map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (output, complaint) = (output.map_err(failed)?, complaint.map_err(failed)?);
    Ok(if status.success() { Ok(text(&output)) } else { Err(text(&complaint)) })
}

/// Reads to the end, or to [`MOST`]; a program that writes more finds nobody who reads it.
async fn read_all(output: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        output.take(MOST).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn what_it_writes_fills_no_memory_and_hangs_nobody() {
        let answer = converse(program("yes nonsense"), "").await.unwrap();
        assert_eq!(answer, Err(String::new()), "it is ended by a pipe that nobody reads");
        assert_eq!(converse(program("cat; echo no >&2"), "yes").await.unwrap(), Ok("yes".to_owned()));
        assert_eq!(converse(program("echo no >&2; exit 1"), "").await.unwrap(), Err("no".to_owned()));
    }

    #[tokio::test]
    async fn one_that_hangs_is_killed_at_the_limit() {
        let told = std::env::temp_dir().join(format!("tenure-nft-{}", std::process::id()));
        let script = format!("echo $$ >{0}.new; mv {0}.new {0}; exec sleep 3600", told.display());
        let running = tokio::spawn(async move { within_limit(program(&script), "").await });
        let pid = loop {
            tokio::task::yield_now().await;
            assert!(!running.is_finished());
            if let Ok(pid) = std::fs::read_to_string(&told) {
                break pid;
            }
        };
        std::fs::remove_file(&told).unwrap();
        tokio::time::pause();
        tokio::time::advance(LIMIT).await;
        let refused = running.await.unwrap();
        assert!(matches!(refused, Err(Error::TooSlow(_))), "{refused:?}");
        // A process that was killed stays as a zombie until it is waited for.
        let stat = format!("/proc/{}/stat", pid.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}
