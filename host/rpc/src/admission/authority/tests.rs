use super::*;

/// A frame.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let [.., high, middle, low] = payload.len().to_be_bytes();
    [&[high, middle, low, kind, flags, 0, 0, 0, 1], payload].concat()
}

/// A field: how it begins, and its value.
fn field(first: &[u8], value: &[u8]) -> Vec<u8> {
    let length = match value.len() {
        short @ ..127 => vec![u8::try_from(short).unwrap()],
        long => vec![
            127,
            u8::try_from((long - 127) % 128).unwrap() | 0x80,
            u8::try_from((long - 127) / 128).unwrap(),
        ],
    };
    [first, &length, value].concat()
}

/// All that a client sends, filtered in pieces of each size.
fn filtered(frames: &[Vec<u8>]) -> Vec<u8> {
    let sent = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frames.concat()].concat();
    let in_pieces_of = |size: usize| {
        let (mut filter, mut bytes) = (AuthorityFilter::default(), sent.clone());
        bytes.chunks_mut(size).for_each(|piece| filter.pass(piece));
        bytes
    };
    let whole = in_pieces_of(sent.len());
    for size in 1..40 {
        assert_eq!(in_pieces_of(size), whole, "in pieces of {size}");
    }
    whole.split_at(PREFACE).1.to_vec()
}

const METHOD: &[u8] = &[0x83];
const PATH: &[u8] = b"\x44\x05/a%2F";

#[test]
fn the_path_of_a_socket_becomes_a_host_and_nothing_else_changes() {
    let long = [b"/".repeat(200), b"x".to_vec()].concat();
    let changed = [b"-".repeat(200), b"x".to_vec()].concat();
    for (sent, expected) in [
        (&b"%2Frun%2Ftenure%2Fagent.sock"[..], &b"-2Frun-2Ftenure-2Fagent.sock"[..]),
        (b"/run/tenure", b"-run-tenure"),
        (b"unix:///run", b"unix----run"),
        (b"localhost", b"localhost"),
        (&long, &changed),
    ] {
        // By its place in the table, indexed or not, and written out.
        for first in [&b"\x41"[..], b"\x01", b"\x11", b"\x40\x0a:authority", b"\x00\x0a:authority"] {
            let fields = |value| [METHOD, PATH, &field(first, value), &field(b"\x40\x01x", b"/%")].concat();
            let after = frame(0, 1, b"\x41\x03/%/");
            let of = |value| [frame(HEADERS, END_HEADERS, &fields(value)), after.clone()];
            assert_eq!(filtered(&of(sent)), of(expected).concat());
        }
    }
}

#[test]
fn padding_priorities_and_continuations_are_followed() {
    let fields = |value: &[u8]| [METHOD, &field(b"\x41", value), PATH].concat();
    let of = |value: &[u8]| {
        let all = fields(value);
        let (one, other) = all.split_at(6);
        let padded = [&[3, 0, 0, 0, 0, 7][..], one, b"/%/"].concat();
        vec![
            frame(4, 0, b"\x41\x01/"),
            frame(HEADERS, PADDED | PRIORITY, &padded),
            frame(CONTINUATION, END_HEADERS | PADDED, other),
            // Frames without content, and the next request.
            frame(HEADERS, END_HEADERS, b""),
            frame(HEADERS, END_HEADERS | PADDED, b"\0"),
            frame(HEADERS, END_HEADERS, &all),
        ]
    };
    assert_eq!(filtered(&of(b"/a/b/c")), of(b"-a-b-c").concat());
}

#[test]
fn other_fields_and_other_codes_stay_as_they_are() {
    let fields = [
        // A size of the table, a large index, the name of another field, empty names and values.
        &b"\x3f\xe1\x1f\xff\x80\x01"[..],
        &field(b"\x40\x0a:authoritx", b"/"),
        &field(b"\x40\x0b:authority2", b"/"),
        &field(b"\x7f\x03", b"/"),
        b"\x40\x00\x01/\x41\x00",
        // In Huffman's code.
        b"\x41\x82//\x40\x88::::::::\x01/",
        PATH,
    ]
    .concat();
    let all = [frame(HEADERS, END_HEADERS, &fields), frame(CONTINUATION, END_HEADERS, &fields)];
    assert_eq!(filtered(&all), all.concat());
}

/// Random bytes keep their lengths, and nothing goes wrong.
#[test]
fn noise_passes() {
    let mut state = 7_u64;
    for length in 1..2000 {
        let mut noise: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.to_be_bytes()[0]
            })
            .collect();
        let (mut filter, length) = (AuthorityFilter::default(), noise.len());
        filter.pass(&mut noise);
        assert_eq!(noise.len(), length);
    }
}
