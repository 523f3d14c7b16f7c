//! Network namespaces by name, and work inside of them.

use std::process::{Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Runs a shell script in a namespace; panics with its output if it fails.
pub(crate) fn shell(room: &str, script: &str) -> String {
    let output = Command::new("ip")
        .args(["netns", "exec", room, "sh", "-ec", script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "in {room}: {script}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The path of a namespace.
pub(crate) fn path(room: &str) -> String {
    format!("/run/netns/{room}")
}

/// Does something on a thread in a namespace.
pub(crate) fn inside<T: Send>(room: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            enter(room);
            work()
        });
        done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Moves the calling thread into a namespace.
pub(crate) fn enter(room: &str) {
    let file = std::fs::File::open(path(room)).unwrap();
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), Some(LinkNameSpaceType::Network)).unwrap();
}

/// Runs something of the library in a namespace.
pub(crate) fn library<T: Send>(room: &str, work: impl AsyncFnOnce() -> T + Send) -> T {
    inside(room, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work())
    })
}
