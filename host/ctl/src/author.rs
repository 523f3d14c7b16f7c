//! The author's side of `tenurectl policy`: from an empty folder to a component that a node can load.
//!
//! Nothing here talks to a daemon. What a language needs is in `language`; a template is a folder in `sdk/template`.

mod bench;
mod build;
mod check;
pub(crate) mod language;
mod new;
mod pack;
mod sandboxed;
mod sign;
mod template;
mod test;

use tenure_policy::SignedRelease;
use tenure_types::Error;

use crate::arguments::Author;

pub(crate) use self::bench::{Benched, Row};
pub(crate) use self::build::Built;
pub(crate) use self::check::{Checked, Trial};
pub(crate) use self::new::Created;
pub(crate) use self::pack::Packed;
pub(crate) use self::sign::Signed;
pub(crate) use self::test::Tested;

/// What a verb of the author's has done.
pub(crate) enum Work {
    Created(Created),
    Built(Built),
    Tested(Tested),
    Checked(Box<Checked>),
    Benched(Benched),
    Packed(Packed),
    Signed(Signed),
}

impl Work {
    /// Whether it found nothing wrong.
    pub(crate) fn is_well(&self) -> bool {
        match self {
            Self::Tested(tested) => tested.passed(),
            Self::Checked(checked) => checked.is_usable(),
            Self::Created(_) | Self::Built(_) | Self::Benched(_) | Self::Packed(_) | Self::Signed(_) => true,
        }
    }
}

/// Runs a verb.
pub(crate) fn run(verb: Author) -> Result<Work, Error> {
    Ok(match verb {
        Author::New { folder, language, sdk } => Work::Created(new::new(&folder, &language, sdk)?),
        Author::Build { folder } => Work::Built(build::build(&folder)?),
        Author::Test { folder, component } => Work::Tested(test::test(&folder, component)?),
        Author::Check { file, network } => Work::Checked(Box::new(check::check(&file, network.as_deref())?)),
        Author::Bench { file, network } => Work::Benched(bench::bench(&file, network.as_deref())?),
        Author::Pack { file, to } => Work::Packed(pack::pack(&file, to)?),
        Author::Sign { file, key, name, release, password_file } => {
            let release = SignedRelease { policy: name, version: release };
            Work::Signed(sign::sign(&file, &release, &key, password_file.as_deref())?)
        }
        Author::Wrap { module, to } => Work::Built(build::wrap(&module, to)?),
    })
}
