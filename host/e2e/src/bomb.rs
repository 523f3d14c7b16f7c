//! A component that compiles for a very long time: small to read, and a compiler's nightmare.
//!
//! Each function has many loops inside of one another and uses many variables in the innermost, so that each loop must
//! carry each of them; and there are many such functions.

/// A component of so many functions, in the text format.
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
