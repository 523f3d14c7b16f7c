//! A small component that takes very long to compile.
//!
//! Each of its many functions nests many loops and uses many variables in the innermost one, so that every loop must carry
//! every variable.

/// A component with a number of such functions, in the text format.
#[must_use]
pub fn component(functions: u32) -> String {
    format!("(component (core {}", module(functions, 400).trim_start_matches('(')) + ")"
}

/// A policy that also has a few smaller functions of that kind, which it never calls: it takes seconds to compile.
///
/// # Errors
/// When the functions cannot be assembled.
pub fn within(mut policy: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    // The section of a core module. Sections of a component come in any order.
    const MODULE: u8 = 1;
    let module = wat::parse_str(module(4, 100))?;
    policy.push(MODULE);
    // LEB128.
    let mut length = module.len();
    while length >= 0x80 {
        policy.push(u8::try_from(length & 0x7f)? | 0x80);
        length >>= 7;
    }
    policy.push(u8::try_from(length)?);
    policy.extend(module);
    Ok(policy)
}

/// Functions, each with this number of loops and of variables.
fn module(functions: u32, size: u32) -> String {
    let times = size as usize;
    let variables = "(local ".to_owned() + &"i64 ".repeat(times) + ")";
    let mixed: String = (0..size)
        .map(|number| {
            let other = (number * 7 + 3) % size;
            format!("local.get {number} local.get {other} i64.add local.set {number} ")
        })
        .collect();
    let (open, close) = ("loop ".repeat(times), "local.get 0 i64.eqz br_if 0 end ".repeat(times));
    let body = format!("{open} {mixed} {close} local.get 0");
    let functions: String =
        (0..functions).map(|_| format!("(func (result i64) {variables} {body})")).collect();
    format!("(module {functions})")
}
