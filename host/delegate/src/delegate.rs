//! One delegate: the calls that it may get, each in a place of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::fs::stat;
use tenure_types::cni::{Command, SpecVersion, Success};
use tenure_types::{DelegateCall, DelegateVerb, hold};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::{silence, success};
use crate::calls::DelegateCalls;
use crate::exchange::{self, Printed};
use crate::failure::CallFailure;
use crate::input::{configuration, environment};
use crate::settings::DelegateSettings;
use crate::version::{QUESTION, newest};

/// A file as it was when its version was asked for: its device, inode, size, and times of modification and change.
type Identity = (u64, u64, i64, (i64, i64), (i64, i64));

/// A delegate of the allow-list.
#[derive(Debug)]
pub struct DelegateProgram {
    settings: Arc<DelegateSettings>,
    calls: Arc<DelegateCalls>,
    places: Arc<Semaphore>,
    /// The version that it speaks, and the file that said so. A `std::sync::Mutex`, held to read and to replace it.
    version: Mutex<Option<(Identity, SpecVersion)>>,
}

impl DelegateProgram {
    /// A delegate, whose calls those of earlier settings are among. Nothing is run or opened yet.
    #[must_use]
    pub fn new(settings: DelegateSettings, calls: Arc<DelegateCalls>) -> Self {
        let places = Arc::new(Semaphore::new(settings.parallel));
        Self { settings: Arc::new(settings), calls, places, version: Mutex::default() }
    }

    /// The delegate's settings.
    #[must_use]
    pub fn settings(&self) -> &DelegateSettings {
        &self.settings
    }

    /// Has it give addresses to an attachment. If the future is dropped, a call that has begun goes on, and the next one for
    /// the attachment waits for it.
    ///
    /// # Errors
    /// [`CallFailure`]; unless [`may_have_run`](CallFailure::may_have_run) denies it, the delegate may have kept something for the
    /// attachment.
    pub async fn add(&self, call: &DelegateCall) -> Result<Success, CallFailure> {
        let version = self.version().await?;
        let input = configuration(&self.settings, version, call, None).map_err(|error| unusable(&error))?;
        success(&self.run(&Command::Add, Some(call), input).await?)
    }

    /// Has it carry out a verb that answers nothing. A verb that its version does not have fails with
    /// [`CallFailure::NoSuchVerb`]. If the future is dropped, a call that has begun goes on.
    ///
    /// # Errors
    /// [`CallFailure`].
    pub async fn tell(&self, call: &DelegateCall, verb: &DelegateVerb) -> Result<(), CallFailure> {
        let version = self.version().await?;
        let (command, name, since) = match verb {
            DelegateVerb::Del => (Command::Del, "DEL", SpecVersion::V0_1_0),
            DelegateVerb::Check { .. } => (Command::Check, "CHECK", SpecVersion::V0_4_0),
            DelegateVerb::Gc { .. } => (Command::Gc, "GC", SpecVersion::V1_1_0),
            DelegateVerb::Status => (Command::Status, "STATUS", SpecVersion::V1_1_0),
        };
        if version < since {
            return Err(CallFailure::NoSuchVerb(version.as_str(), name));
        }
        let input =
            configuration(&self.settings, version, call, Some(verb)).map_err(|error| unusable(&error))?;
        silence(&self.run(&command, Some(call), input).await?)
    }

    /// The newest version that both sides speak. Asked once for each file that is found at the path.
    ///
    /// # Errors
    /// [`CallFailure`].
    pub async fn version(&self) -> Result<SpecVersion, CallFailure> {
        let identity = self.identity();
        let known = *hold(&self.version);
        if let Some((_, version)) = known.filter(|(known, _)| Some(*known) == identity) {
            return Ok(version);
        }
        let version = newest(&self.run(&Command::Version, None, QUESTION.to_vec()).await?)?;
        *hold(&self.version) = identity.map(|identity| (identity, version));
        Ok(version)
    }

    fn identity(&self) -> Option<Identity> {
        let found = stat(&self.settings.path).ok()?;
        Some((
            found.st_dev,
            found.st_ino,
            found.st_size,
            (found.st_mtime, found.st_mtime_nsec.try_into().unwrap_or_default()),
            (found.st_ctime, found.st_ctime_nsec.try_into().unwrap_or_default()),
        ))
    }

    async fn run(
        &self,
        command: &Command,
        call: Option<&DelegateCall>,
        input: Vec<u8>,
    ) -> Result<Printed, CallFailure> {
        self.calls.begin(self.settings.timeout).await?;
        let turn = self.calls.turn(command, call).await;
        let place = self.place().await?;
        let environment = environment(&self.settings, command, call);
        let (settings, calls) = (Arc::clone(&self.settings), Arc::clone(&self.calls));
        let running = tokio::task::spawn_blocking(move || {
            // Held to the end of the call, which need not be that of its caller.
            let (_turn, _place) = (turn, place);
            exchange::run(&settings, calls.file(), &environment, &input)
        });
        let ran = running.await.map_err(|error| unusable(&error))?;
        if ran.is_err() {
            // It is asked again, which shows whether it runs.
            *hold(&self.version) = None;
        }
        ran
    }

    /// Waits for a place, for as long as a call may take.
    async fn place(&self) -> Result<OwnedSemaphorePermit, CallFailure> {
        let waited: Duration = self.settings.timeout;
        let place = tokio::time::timeout(waited, Arc::clone(&self.places).acquire_owned()).await;
        match place {
            Ok(Ok(place)) => Ok(place),
            _ => Err(CallFailure::Busy { running: self.settings.parallel, waited }),
        }
    }
}

fn unusable(error: &impl std::fmt::Display) -> CallFailure {
    CallFailure::Unusable(format!("cannot run it: {error}"))
}
