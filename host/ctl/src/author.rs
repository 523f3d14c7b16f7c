//! The author's side of `tenurectl policy`: from an empty folder to a component that a node can load.
//!
//! Nothing here talks to a daemon. What a language needs is in `language`; a template is a folder in `sdk/template`.

mod bench;
mod build;
mod check;
mod checked;
pub(crate) mod language;
mod new;
mod pack;
mod sandboxed;
mod sign;
pub(crate) mod template;
mod test;

use tenure_policy::SignedRelease;
use tenure_types::Error;

use crate::arguments::Author;
use crate::render::Report;

/// Runs a verb.
pub(crate) fn run(verb: Author) -> Result<Report, Error> {
    Ok(match verb {
        Author::New { folder, language, template, sdk } => {
            Report::of(new::new(&folder, &language, &template, sdk)?)
        }
        Author::Build { folder } => Report::of(build::build(&folder)?),
        Author::Test { folder, component } => Report::of(test::test(&folder, component)?),
        Author::Check { file, trial } => Report::of(check::check(&file, &trial)?),
        Author::Bench { file, trial } => Report::of(bench::bench(&file, &trial)?),
        Author::Pack { file, package, to, force } => {
            Report::of(pack::pack(&file, package.as_deref(), to, force)?)
        }
        Author::Sign { file, key, name, release, password_file } => {
            let release = SignedRelease { policy: name, version: release };
            Report::of(sign::sign(&file, &release, &key, password_file.as_deref())?)
        }
        Author::Wrap { module, to } => Report::of(build::wrap(&module, to)?),
    })
}

#[cfg(test)]
mod tests;
