//! The words of a policy that fails: however it writes them, they reach the operator as text.

use tenure_types::{ErrorCode, NetworkConfig, NetworkName};

use crate::node;

const WIT: &str = include_str!("../../../../wit/ipam/next/ipam.wit");

/// Writes what lies at 2048 to the standard error, as programs that were compiled for WASI do.
const TO_STANDARD_ERROR: &str =
    "(drop (call $fd_write (i32.const 2) (i32.const 1536) (i32.const 1) (i32.const 1544)))";

/// The cause of the error of a policy that runs these instructions, with the bytes at 2048, and then traps.
fn cause(bytes: &[u8], instructions: &str) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
    let (data, length) = (escaped(bytes), escaped(&u32::try_from(bytes.len()).unwrap().to_le_bytes()));
    let module = format!(
        r#"(module
            (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
            (import "tenure:ipam/log@0.1.0-rc.1" "write" (func $log (param i32 i32 i32 i32 i32)))
            (memory (export "memory") 1)
            (data (i32.const 1536) "\00\08\00\00{length}")
            (data (i32.const 2048) "{data}")
            (func (export "tenure:ipam/network@0.1.0-rc.1#define") (param i32 i32 i32 i32 i32 i32) (result i32)
                {instructions} unreachable)
            (func (export "tenure:ipam/allocation@0.1.0-rc.1#propose") (param i32 i32 i32 i32 i32 i32) (result i32)
                unreachable)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 32768)))"#
    );
    let module = wat::parse_str(module).unwrap();
    let policy = node::load("panics", &tenure_sdk_build::wrap("panics", &module, WIT, "policy").unwrap());
    let config = NetworkConfig { ipam: "{}".into(), attributes: Vec::new() };
    let error = policy.define(&NetworkName::new("net").unwrap(), &config).map(|_| ()).unwrap_err();
    assert_eq!(error.code, ErrorCode::PolicyFailed);
    error.cause
}

#[test]
fn what_a_program_writes_before_it_fails_is_shown_as_text() {
    let long = format!("panic: {}\n", "é".repeat(600));
    for (written, told) in [
        ("panic: ümlaut € 😀\n".as_bytes(), "panic: ümlaut € 😀".to_owned()),
        // Single bytes, a character that is not whole, half a surrogate pair, and one that is longer than it must be.
        (
            b"panic: a\xffb\xe2\x82c\xed\xa0\x80\xc0\xaf\xf5\n",
            r"panic: a\xffb\xe2\x82c\xed\xa0\x80\xc0\xaf\xf5".into(),
        ),
        // A line has room for 896 bytes, which end within a character.
        (long.as_bytes(), format!("panic: {}…", "é".repeat(444))),
        // Bytes that take more room than there is.
        (&[0xff; 900], format!("{}…", r"\xff".repeat(128))),
    ] {
        let written = [written, b"\n"].concat();
        let cause = cause(&written, TO_STANDARD_ERROR);
        assert!(cause.ends_with(&format!("; its last warning: {told}")), "{cause}");
        assert!(!cause.contains(char::REPLACEMENT_CHARACTER), "{cause}");
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_named_as_the_cause() {
    let write = "(call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 2048) (i32.const 2))";
    let cause = cause(b"a\xff", write);
    let told =
        "a text that it passed to the host is not UTF-8: invalid utf-8 sequence of 1 bytes from index 1";
    assert!(cause.ends_with(told), "{cause}");
}
