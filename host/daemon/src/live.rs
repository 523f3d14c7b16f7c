//! Reloading the configuration: reads the file, compares it key by key, and applies what can change while the daemon runs.
//!
//! An invalid file changes nothing. A key that needs a restart keeps its value until then, and is reported.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_conditions::Report;
use tenure_delegate::Allowed;
use tenure_engine::Engine;
use tenure_observe::logging::Control;
use tenure_policy::Policies;
use tenure_policy::decisions::Recorder;
use tenure_rpc::admin::Reloaded;
use tenure_rpc::cni::CniService;
use tenure_types::{ConditionName, Error, ErrorCode, NetworkName, PolicyStamp};
use tokio::sync::{Mutex, watch};

use crate::config::{Config, ConfigFile, ConfigFileError};
use crate::parts::{FollowedFiles, NetworkSetup};
use crate::policies;

/// The next step where policies that serve have no signature by the new keys.
const SIGN_FIRST: &str = "sign the policies named above and, where tenured.toml names no file of theirs, load them again; or activate others there; then reload";

/// Everything that a reload changes.
pub(crate) struct LiveParts {
    pub(crate) engine: Arc<Engine>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) recorder: Arc<Recorder>,
    /// The delegates that may be run.
    pub(crate) allowed: Arc<Allowed>,
    pub(crate) cni: CniService,
    pub(crate) log: Control,
    pub(crate) files: Arc<FollowedFiles>,
    pub(crate) networks: Arc<NetworkSetup>,
}

/// The current configuration, and everything that a reload changes.
pub(crate) struct Live {
    file: Arc<ConfigFile>,
    /// The current configuration.
    pub(crate) config: watch::Sender<Arc<Config>>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) recorder: Arc<Recorder>,
    engine: Arc<Engine>,
    allowed: Arc<Allowed>,
    cni: CniService,
    log: Control,
    files: Arc<FollowedFiles>,
    networks: Arc<NetworkSetup>,
    /// Held while the file is read and applied.
    turn: Mutex<()>,
    /// Whether the last reload could not read the file.
    is_unread: AtomicBool,
}

impl Live {
    /// Puts the configuration of the start in force.
    pub(crate) fn new(file: Arc<ConfigFile>, config: Config, parts: LiveParts) -> Self {
        let LiveParts { engine, policies, recorder, allowed, cni, log, files, networks } = parts;
        recorder.set(config.recorded());
        allowed.set(config.allowed());
        files.remember();
        let config = watch::Sender::new(Arc::new(config));
        Self {
            file,
            config,
            policies,
            recorder,
            engine,
            allowed,
            cni,
            log,
            files,
            networks,
            turn: Mutex::default(),
            is_unread: AtomicBool::new(false),
        }
    }

    /// Whether the last reload could not read the file, so that nobody knows whether its text is valid.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// The path of the file, and the configuration in force as TOML.
    ///
    /// # Errors
    /// `Internal` if a value cannot be written as TOML.
    pub(crate) fn shown(&self) -> Result<(PathBuf, String), Error> {
        let path = self.file.path();
        let config = Arc::clone(&self.config.borrow());
        let text =
            toml::to_string(config.as_ref()).map_err(|error| Error::new(ErrorCode::Internal, error))?;
        Ok((std::path::absolute(path).unwrap_or_else(|_| path.to_owned()), text))
    }

    /// Reloads the configuration and applies it.
    ///
    /// # Errors
    /// `InvalidConfig` with the file, the key and the reason; nothing has changed then.
    pub(crate) async fn reload(&self) -> Result<Reloaded, Error> {
        let report = Report::new(self.engine.conditions(), ConditionName::ConfigurationRefused);
        // One reload at a time, so that the file that was read last is the one applied.
        let turn = self.turn.lock().await;
        let file = Arc::clone(&self.file);
        let read = tokio::task::spawn_blocking(move || file.read()).await;
        let read = read.map_err(|error| Error::new(ErrorCode::Internal, error))?;
        let is_unread = matches!(read, Err(ConfigFileError::Unreadable { .. }));
        self.is_unread.store(is_unread, Ordering::Relaxed);
        let read = read.map_err(|error| error.of_a_reload()).inspect_err(|error| {
            tracing::error!(cause = error.cause, "the configuration was not reloaded; nothing has changed");
            report.wrong(format!("the reloaded configuration was refused: {error}"));
        })?;
        let signatures = self.config.borrow().signatures != read.signatures;
        if signatures {
            self.check_signatures(&read).await.inspect_err(|error| {
                tracing::error!(
                    cause = error.cause,
                    "the configuration was not reloaded; nothing has changed"
                );
                report.wrong(format!("the reloaded configuration was refused: {error}"));
            })?;
        }
        let (applied, after_restart) = self.put_in_force(&read);
        let forgotten = if signatures { self.forget_untrusted().await? } else { Vec::new() };
        drop(turn);
        if signatures {
            // What was refused for want of a signature may serve now, and at once.
            self.policies.load_untrusted_again(forgotten).await;
        }
        report.well();
        self.files.read_new().await;
        let failed = self.networks.bring_about(&self.config.subscribe()).await;
        let problems =
            failed.iter().map(|(network, error)| (format!("networks.{network}"), error.to_string()));
        let problems = problems.collect();
        tracing::info!(
            applied = applied.join(", "),
            after_restart = after_restart.join(", "),
            "reloaded the configuration"
        );
        Ok(Reloaded { applied, after_restart, problems })
    }

    /// Refuses keys with which a policy that serves a network would not be loaded by the next start, and with which it
    /// would have been until now. What is not trusted anyway does not keep anybody from changing the keys.
    async fn check_signatures(&self, read: &Config) -> Result<(), Error> {
        let before = Arc::clone(&self.config.borrow());
        let (before, now) = (policies::keys(&before), policies::keys(read));
        let networks = self.serving();
        let serving: Vec<_> = networks.iter().map(|(policy, _)| policy.clone()).collect();
        let policies = Arc::clone(&self.policies);
        let refused = tokio::task::spawn_blocking(move || {
            let refused = policies.untrusted(&now, &serving);
            let already = policies.untrusted(&before, &serving);
            let is_new = |policy: &PolicyStamp| already.iter().all(|(already, _)| already != policy);
            refused.into_iter().filter(|(policy, _)| is_new(policy)).collect::<Vec<_>>()
        });
        let refused = refused.await.map_err(|error| Error::new(ErrorCode::Internal, error))?;
        if refused.is_empty() {
            return Ok(());
        }
        let told = networks.iter().filter_map(|(serving, network)| {
            let (policy, cause) = refused.iter().find(|(policy, _)| policy == serving)?;
            Some(format!("policy {policy} serves network {network}: {cause}"))
        });
        let told = told.collect::<Vec<_>>().join("; ");
        let cause = format_args!(
            "signatures: the next start would not load what serves; {told}; sign it, or activate another policy there first"
        );
        Err(Error::new(ErrorCode::InvalidConfig, cause).to_be_solved_by(SIGN_FIRST))
    }

    /// Forgets the policies that serve nothing and have no signature by the keys in force, so that nobody activates one that the
    /// next start would not load.
    async fn forget_untrusted(&self) -> Result<Vec<PolicyStamp>, Error> {
        let serving: Vec<_> = self.serving().into_iter().map(|(policy, _)| policy).collect();
        let policies = Arc::clone(&self.policies);
        let forgotten = tokio::task::spawn_blocking(move || policies.forget_untrusted(&serving)).await;
        forgotten.map_err(|error| Error::new(ErrorCode::Internal, error))
    }

    /// The policies that serve networks, and these networks. A delegate's stand-in is not among them: it has no signature.
    fn serving(&self) -> Vec<(PolicyStamp, NetworkName)> {
        let networks = self.engine.network_names().into_iter();
        networks
            .filter_map(|network| Some((self.engine.policies_of(&network)?.now.policy, network)))
            .filter(|(policy, _)| policy.name.delegate().is_none())
            .collect()
    }

    /// Applies what can change now; returns the keys that changed, and those that need a restart.
    fn put_in_force(&self, read: &Config) -> (Vec<String>, Vec<String>) {
        let before = Arc::clone(&self.config.borrow());
        let now = read.clone().on_top_of(&before);
        let (applied, after_restart) = (before.differences(&now), now.differences(read));
        if before.signatures != now.signatures {
            self.policies.trust(policies::keys(&now));
        }
        if before.policies != now.policies {
            self.policies.grant(policies::grants(&now));
            self.engine.check_again();
            self.policies.set_files(policies::files(&now));
        }
        self.recorder.set(now.recorded());
        self.allowed.set(now.allowed());
        let mut settings = now.settings();
        let bounds = Arc::clone(&self.engine.settings().bounds);
        if settings.bounds == bounds {
            // Keep the same `Arc`: networks have already been checked against these bounds.
            settings.bounds = bounds;
        }
        self.engine.set(settings);
        self.cni.ignore_host_local(now.host_local.ignore);
        self.log.set(now.log.level.clone());
        self.config.send_replace(Arc::new(now));
        (applied, after_restart)
    }
}
