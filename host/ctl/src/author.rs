//! The author's side of `tenurectl policy`: from an empty folder to a component that a node can load.
//!
//! Nothing here talks to a daemon. What a language needs is in `language`; a template is a folder in `sdk/template`.

mod build;
mod language;
mod new;
mod template;

use tenure_types::Error;

use crate::arguments::Author;
use crate::report::Report;

pub(crate) use self::build::Built;
pub(crate) use self::language::names;
pub(crate) use self::new::Created;

/// What a verb of the author's has done.
pub(crate) enum Work {
    Created(Created),
    Built(Built),
}

/// Runs a verb.
pub(crate) fn run(verb: Author) -> Result<Report, Error> {
    let done = match verb {
        Author::New { folder, language, sdk } => Work::Created(new::new(&folder, &language, sdk)?),
        Author::Build { folder } => Work::Built(build::build(&folder)?),
    };
    Ok(Report::Work(done))
}
