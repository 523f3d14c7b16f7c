//! A small component that takes very long to compile.
//!
//! Each of its many functions nests many loops and uses many variables in the innermost one, so that every loop must carry
//! every variable.

/// A component with a number of such functions, in the text format.
#[must_use]
pub fn component(functions: u32) -> String {
    const LOOPS: u32 = 400;
    const VARIABLES: u32 = 400;
    let variables = "(local ".to_owned() + &"i64 ".repeat(VARIABLES as usize) + ")";
    let mixed: String = (0..VARIABLES)
        .map(|number| {
            let other = (number * 7 + 3) % VARIABLES;
            format!("local.get {number} local.get {other} i64.add local.set {number} ")
        })
        .collect();
    let (open, close) =
        ("loop ".repeat(LOOPS as usize), "local.get 0 i64.eqz br_if 0 end ".repeat(LOOPS as usize));
    let body = format!("{open} {mixed} {close} local.get 0");
    let functions: String =
        (0..functions).map(|_| format!("(func (result i64) {variables} {body})")).collect();
    format!("(component (core module {functions}))")
}
