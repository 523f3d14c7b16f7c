//! The `:authority` of requests: clients name what they connect to there, and for a unix socket that is its path.
//!
//! gRPC in C++, Python, Ruby and Java sends the path of the socket, percent-encoded or as it is. HTTP/2 has no place for a path there, so the
//! server's HTTP library resets such requests without a word. Nobody reads the value: the bytes that no host name has are replaced by `-` before
//! the library sees them, which leaves every length as it is. Values in Huffman's code stay as they are; the clients above do not use it.
//!
//! ```text
//! preface ─▶ frame header ─┬─▶ HEADERS: pad length, priority ─▶ fields ─▶ padding ─┬─▶ frame header ...
//!                          ├─▶ CONTINUATION: fields ───────────────────────────────┤
//!                          └─▶ any other: skipped ─────────────────────────────────┘
//! ```
//!
//! Nothing is buffered, and nothing is judged: what is malformed is the library's to refuse.

mod fields;

use self::fields::Fields;

/// The length of what a client sends before its first frame.
const PREFACE: usize = 24;

/// The length of a frame's header.
const FRAME_HEADER: usize = 9;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The flags of a frame with fields: it is the last of its request, has padding, has a priority.
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The length of a priority.
const PRIORITY_LENGTH: usize = 5;

/// The place in a connection's bytes.
#[derive(Debug)]
pub(super) struct AuthorityFilter {
    next: NextBytes,
    fields: Fields,
}

/// The next bytes of a connection.
#[derive(Debug)]
enum NextBytes {
    /// Skips this many bytes; a frame's header follows.
    Skipped(usize),
    /// The rest of a frame's header.
    FrameHeader { bytes: [u8; FRAME_HEADER], read: usize },
    /// The rest of what comes before the fields.
    Prelude { frame: FieldsFrame, read: usize },
    /// Reads the header fields of a frame.
    Fields(FieldsFrame),
}

/// A frame with fields.
#[derive(Debug, Clone, Copy)]
struct FieldsFrame {
    flags: u8,
    /// The bytes that are left of it, with the padding at its end.
    left: usize,
    padding: usize,
}

impl Default for AuthorityFilter {
    fn default() -> Self {
        Self { next: NextBytes::Skipped(PREFACE), fields: Fields::default() }
    }
}

impl AuthorityFilter {
    /// Replaces what no authority may have in the next bytes of the connection.
    pub(super) fn pass(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let used = self.step(bytes);
            bytes = bytes.get_mut(used..).unwrap_or_default();
        }
    }

    /// Takes some bytes, or none to move on; returns their number. There is at least one.
    fn step(&mut self, bytes: &mut [u8]) -> usize {
        let first = bytes.first().copied().unwrap_or_default();
        match &mut self.next {
            NextBytes::Skipped(0) => {
                self.next = NextBytes::FrameHeader { bytes: [0; FRAME_HEADER], read: 0 };
                0
            }
            NextBytes::Skipped(left) => {
                let used = (*left).min(bytes.len());
                *left -= used;
                used
            }
            NextBytes::FrameHeader { bytes, read } => {
                if let Some(place) = bytes.get_mut(*read) {
                    *place = first;
                }
                *read += 1;
                if *read == FRAME_HEADER {
                    self.next = NextBytes::of(*bytes);
                }
                1
            }
            NextBytes::Prelude { frame, read } if *read == frame.prelude() => {
                self.next = NextBytes::Fields(*frame);
                0
            }
            NextBytes::Prelude { frame, read } => {
                if *read == 0 && frame.flags & PADDED != 0 {
                    frame.padding = usize::from(first);
                }
                *read += 1;
                frame.left = frame.left.saturating_sub(1);
                1
            }
            NextBytes::Fields(frame) if frame.left <= frame.padding => {
                if frame.flags & END_HEADERS != 0 {
                    self.fields = Fields::default();
                }
                self.next = NextBytes::Skipped(frame.left);
                0
            }
            NextBytes::Fields(frame) => {
                let used = (frame.left - frame.padding).min(bytes.len());
                bytes.iter_mut().take(used).for_each(|byte| self.fields.pass(byte));
                frame.left -= used;
                used
            }
        }
    }
}

impl NextBytes {
    /// Returns the state after a frame's header.
    fn of([high, middle, low, kind, flags, ..]: [u8; FRAME_HEADER]) -> Self {
        let left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        match kind {
            HEADERS => Self::Prelude { frame: FieldsFrame { flags, left, padding: 0 }, read: 0 },
            // It has neither padding nor a priority.
            CONTINUATION => Self::Fields(FieldsFrame { flags: flags & END_HEADERS, left, padding: 0 }),
            _ => Self::Skipped(left),
        }
    }
}

impl FieldsFrame {
    /// The length of what comes before its fields.
    fn prelude(self) -> usize {
        let has = |flag: u8| usize::from(self.flags & flag != 0);
        has(PADDED) + has(PRIORITY) * PRIORITY_LENGTH
    }
}

#[cfg(test)]
mod tests;
