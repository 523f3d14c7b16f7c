//! Finds out before an import whether its source can be read afterwards. The daemon sees less than who imports: its unit hides the home
//! directories, and it reads no file that only another user may read.

use std::fs::File;
use std::sync::atomic::Ordering;

use tenure_types::{Error, ErrorCode, NetworkName, Result};
use tokio::time::timeout;

use super::{OtherState, Unimported, is_nothing};

impl Unimported {
    /// Opens a source. What is not there has no addresses.
    ///
    /// # Errors
    /// `InputOutput`, with the way out; `Internal`.
    pub(super) async fn open(&self, network: &NetworkName, source: &str) -> Result<()> {
        let state = OtherState::of(source, self.ignore.load(Ordering::Relaxed));
        let Some(state) = state.filter(|state| state.path().is_absolute()) else { return Ok(()) };
        let path = state.watched(network);
        let shown = path.display().to_string();
        // What hangs is left alone, as a look is.
        let opening = tokio::task::spawn_blocking(move || File::open(path).map(drop));
        let error = match timeout(self.limit, opening).await {
            Ok(opened) => match opened.map_err(|error| Error::new(ErrorCode::Internal, error))? {
                Ok(()) => return Ok(()),
                Err(error) if is_nothing(&error) => return Ok(()),
                Err(error) => error.to_string(),
            },
            Err(_) => format!("no answer within {} s", self.limit.as_secs()),
        };
        let cause = format_args!(
            "tenured cannot read {shown}: {error}; it could not compare network {network} with it after the import, and would refuse new pods"
        );
        Err(Error::new(ErrorCode::InputOutput, cause).to_be_solved_by(
            "copy it, with its times (`cp -a`), to a place that tenured can read, such as /run, and import the copy; tenured's unit hides /root, /home and /run/user",
        ))
    }
}
