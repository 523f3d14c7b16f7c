//! The parts that the supervisor runs.

use std::pin::Pin;

use tokio_util::sync::CancellationToken;

/// A part of a program, which works for as long as the program runs. All parts have the same shape:
///
/// | | |
/// |---|---|
/// | build | a constructor takes what the part needs, and starts nothing |
/// | run | [`run`](Self::run) works until a stop is requested |
/// | stop | `run` gets a cancellation token; a part that takes too long to stop is aborted |
/// | condition | a part reports its problems through a [`Report`](tenure_conditions::Report) on the node's list of conditions |
pub trait Part: Send + 'static {
    /// Works until a stop is requested, and then finishes what it has begun.
    ///
    /// It may be called again after an error or a panic, unless the part is essential.
    ///
    /// # Errors
    /// If the part cannot continue.
    fn run(&mut self, stop: &CancellationToken) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// A part that has nothing to finish: a stop drops it where it waits.
pub trait Interruptible: Send + 'static {
    /// Works until its work is done, or for ever.
    fn work(&mut self) -> impl Future<Output = ()> + Send;
}

impl<T: Interruptible> Part for T {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        stop.run_until_cancelled(self.work()).await;
        Ok(())
    }
}

/// [`Part`] as a trait object.
pub(crate) trait DynPart: Send {
    fn run<'a>(&'a mut self, stop: &'a CancellationToken) -> Running<'a>;
}

/// A run of a part.
type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 'a>>;

impl<T: Part> DynPart for T {
    fn run<'a>(&'a mut self, stop: &'a CancellationToken) -> Running<'a> {
        Box::pin(Part::run(self, stop))
    }
}

/// The message of a panic.
pub(crate) fn panic_words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
