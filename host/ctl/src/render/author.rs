//! What an author's verb has done.

use crate::author::{Built, Created, Work};

/// The work's text.
pub(super) fn work(work: &Work) -> String {
    match work {
        Work::Created(created) => self::created(created),
        Work::Built(built) => self::built(built),
    }
}

fn created(created: &Created) -> String {
    let folder = created.folder.display();
    let mut text = format!("Created a policy in {folder}, in {}:\n", created.language);
    for file in &created.files {
        text.push_str(&format!("  {}\n", file.display()));
    }
    text + &format!("Next: tenurectl policy build {folder}\n")
}

fn built(built: &Built) -> String {
    format!("{}: {} bytes, sha256 {}\n", built.file.display(), built.bytes, built.sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_listed_with_the_next_step() {
        let created = Created {
            folder: "zones".into(),
            language: "rust",
            files: vec!["Cargo.toml".into(), "src/lib.rs".into()],
        };
        insta::assert_snapshot!(work(&Work::Created(created)), @"
        Created a policy in zones, in rust:
          Cargo.toml
          src/lib.rs
        Next: tenurectl policy build zones
        ");
        let built = Built {
            file: "zones/policy.wasm".into(),
            language: "rust",
            bytes: 96_154,
            sha256: "9f86d081884c7d659a2feaa0c55ad015".into(),
        };
        insta::assert_snapshot!(work(&Work::Built(built)), @"zones/policy.wasm: 96154 bytes, sha256 9f86d081884c7d659a2feaa0c55ad015");
    }
}
