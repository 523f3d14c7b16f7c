use super::*;

#[test]
fn items_are_public_with_their_owner_and_first_paragraph() {
    let text = "\
/// A shelf, as [`free`](Self::free) has it.
///
/// More.
pub struct Shelf<'a> {
pool: u32,
}

impl<'a> Shelf<'a> {
/// Asks for
/// much.
#[must_use]
pub fn free(
    self,
    limit: u32,
) -> Vec<u32> {
    let x = 1;
}

/// Private.
fn hidden() {}
}

impl From<A> for Shelf<'_> {
fn from(_: A) -> Self {}
}

/// Rules.
pub trait Policy: Sized {
/// Defines.
fn define(_: &Config) -> Result<Definition, ConfigError>;
}

/// Not for readers.
#[doc(hidden)]
pub fn hidden() {}

/// Free of types.
pub const fn room(usage: &Usage) -> u32 {
}
#[cfg(test)]
pub fn test() {}
";
    let found: Vec<_> =
        items(text).into_iter().map(|item| format!("{} = {}", item.name, item.words)).collect();
    assert_eq!(
        found,
        [
            "struct Shelf = A shelf, as `free` has it.",
            "Shelf::free(self, limit: u32) -> Vec<u32> = Asks for much.",
            "trait Policy = Rules.",
            "Policy::define(_: &Config) -> Result<Definition, ConfigError> = Defines.",
            "room(usage: &Usage) -> u32 = Free of types.",
        ]
    );
}

/// With `TENURE_WRITE_PAGE=1` in the environment, the page is written instead of compared.
#[test]
fn the_committed_page_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (file, page) = (root.join("deploy/book/src/sdk.md"), page(root).unwrap());
    if std::env::var_os("TENURE_WRITE_PAGE").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == page, "deploy/book/src/sdk.md is out of date: run `cargo xtask docs`");
}
