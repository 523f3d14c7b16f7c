//! The fields of requests as HPACK writes them: where the value of `:authority` is.
//!
//! The table of fields that were sent before is not followed: the clients that need help write the name out, or name it by its place in
//! HPACK's static table.

/// The place of `:authority` in HPACK's static table.
const AUTHORITY: u32 = 1;

/// The name, written out.
const NAME: &[u8] = b":authority";

/// The bit of a string that is in Huffman's code.
const HUFFMAN: u8 = 0x80;

/// The longest integer that HPACK needs here, in bits; what is longer is refused by the library.
const LONGEST_SHIFT: u32 = 28;

/// The next byte of a request's fields.
#[derive(Debug, Default)]
pub(super) enum Fields {
    /// The first byte of a field.
    #[default]
    First,
    /// The rest of an integer.
    Integer { value: u32, shift: u32, of: Integer },
    /// The length of a name.
    NameLength,
    /// The rest of a name, and whether it has been that of `:authority` so far.
    Name { left: u32, read: usize, is_same: bool },
    /// The length of a value.
    ValueLength { is_authority: bool },
    /// The rest of a value.
    Value { left: u32, is_authority: bool },
}

/// The meaning of an integer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Integer {
    /// A whole field.
    Field,
    /// A name by its place in a table.
    Name,
    /// The length of a name.
    NameLength { is_plain: bool },
    /// The length of a value.
    ValueLength { is_authority: bool },
}

impl Fields {
    /// Takes the next byte, and replaces it if no authority may have it.
    pub(super) fn pass(&mut self, byte: &mut u8) {
        *self = match *self {
            Self::First => first(*byte),
            Self::Integer { value, shift, of } => {
                let value = value.saturating_add(u32::from(*byte & 0x7f) << shift.min(LONGEST_SHIFT));
                match *byte & 0x80 {
                    0 => of.is(value),
                    _ => Self::Integer { value, shift: shift + 7, of },
                }
            }
            Self::NameLength => integer(*byte, 7, Integer::NameLength { is_plain: *byte & HUFFMAN == 0 }),
            Self::Name { left, read, is_same } => {
                let is_same = is_same && NAME.get(read) == Some(byte);
                match left {
                    0 | 1 => Self::ValueLength { is_authority: is_same && read + 1 == NAME.len() },
                    _ => Self::Name { left: left - 1, read: read + 1, is_same },
                }
            }
            Self::ValueLength { is_authority } => {
                let is_authority = is_authority && *byte & HUFFMAN == 0;
                integer(*byte, 7, Integer::ValueLength { is_authority })
            }
            Self::Value { left, is_authority } => {
                if is_authority && !byte.is_ascii_alphanumeric() && *byte != b'.' {
                    *byte = b'-';
                }
                match left {
                    0 | 1 => Self::First,
                    _ => Self::Value { left: left - 1, is_authority },
                }
            }
        }
    }
}

/// The first byte of a field: whole, or a name that a value follows.
fn first(byte: u8) -> Fields {
    match byte {
        0x80.. => integer(byte, 7, Integer::Field),
        0x40.. => named(byte, 6),
        // The size of the table.
        0x20.. => integer(byte, 5, Integer::Field),
        _ => named(byte, 4),
    }
}

fn named(byte: u8, bits: u32) -> Fields {
    match u32::from(byte) & mask(bits) {
        0 => Fields::NameLength,
        _ => integer(byte, bits, Integer::Name),
    }
}

/// An integer whose first byte has so many bits of it.
fn integer(byte: u8, bits: u32, of: Integer) -> Fields {
    let value = u32::from(byte) & mask(bits);
    if value < mask(bits) { of.is(value) } else { Fields::Integer { value, shift: 0, of } }
}

fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

impl Integer {
    /// Returns the state after the integer.
    fn is(self, value: u32) -> Fields {
        match self {
            Self::Field => Fields::First,
            Self::Name => Fields::ValueLength { is_authority: value == AUTHORITY },
            Self::NameLength { .. } if value == 0 => Fields::ValueLength { is_authority: false },
            Self::NameLength { is_plain } => Fields::Name { left: value, read: 0, is_same: is_plain },
            Self::ValueLength { .. } if value == 0 => Fields::First,
            Self::ValueLength { is_authority } => Fields::Value { left: value, is_authority },
        }
    }
}
