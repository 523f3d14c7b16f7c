//! The part of an answer that its reader has not taken yet, so that whoever made the answer can take it back.

use std::sync::Mutex;

use tenure_types::hold;
use tonic::codegen::Bytes;

/// The part of an answer that is not read yet.
#[derive(Debug, Default)]
pub(crate) struct UnreadPart(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    bytes: Bytes,
    is_cut: bool,
}

impl UnreadPart {
    /// More of the answer, of which everything before was read.
    pub(crate) fn put(&self, bytes: Bytes) {
        hold(&self.0).bytes = bytes;
    }

    /// Takes the next piece off; `None` if everything was read.
    pub(crate) fn piece(&self, longest: usize) -> Option<Bytes> {
        let mut state = hold(&self.0);
        let length = state.bytes.len().min(longest);
        (length > 0).then(|| state.bytes.split_to(length))
    }

    /// Whether everything was read.
    pub(crate) fn is_empty(&self) -> bool {
        hold(&self.0).bytes.is_empty()
    }

    /// Whether a part was taken back.
    pub(crate) fn is_cut(&self) -> bool {
        hold(&self.0).is_cut
    }

    /// Takes what is longer than so many bytes back: for its reader, the answer breaks off there.
    pub(crate) fn cut(&self, longest: usize) {
        let mut state = hold(&self.0);
        if state.bytes.len() > longest {
            // Not a part of it: that would keep the whole.
            *state = State { bytes: Bytes::new(), is_cut: true };
        }
    }
}
