//! The time that a policy or a delegate takes.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Yields once, so that other tasks run during a policy call.
#[derive(Default)]
pub(crate) struct Thinking(bool);

impl Future for Thinking {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
