//! The second witness: the addresses that the kernel and the container runtime name, independently of the ledger.
//!
//! It is asked while a plan is made, so it answers from its latest look. One that is too old, and a runtime that does not
//! answer, do not prove that anything is unused.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tenure_aws::witness::UseWitness;
use tenure_engine::ports::Clock;
use tenure_netlink::Kernel;
use tenure_runtime::{Addresses, Runtime};
use tokio::sync::Notify;
use tokio::time::sleep;

/// How often to look.
const EVERY: Duration = Duration::from_secs(5);

/// The least time between two looks at the kernel's links.
const SOON: Duration = Duration::from_millis(100);

/// How old a look at the kernel's links may be.
const FRESH: Duration = Duration::from_secs(2);

/// How old a look may be.
const OLDEST: Duration = Duration::from_secs(30);

/// The latest look.
#[derive(Debug)]
struct WitnessLook {
    /// Beginning of the look.
    at: Duration,
    /// User of each address, in words; or why that is not known.
    named: Result<BTreeMap<IpAddr, String>, String>,
}

/// A witness that looks at the kernel and the runtime.
pub(crate) struct Looking {
    clock: Arc<dyn Clock>,
    /// Without one, the kernel alone is looked at.
    runtime: Option<Addresses>,
    /// A `std::sync::Mutex`, held to read and to replace.
    latest: Mutex<Option<WitnessLook>>,
    /// The hardware addresses of the kernel's links, and when they were looked at. Behind a lock as above.
    links: Mutex<Option<(Duration, BTreeSet<String>)>>,
    /// Somebody asked for a link.
    asked: Notify,
}

impl Looking {
    pub(crate) fn new(clock: Arc<dyn Clock>, runtime: Option<Runtime>) -> Self {
        let (latest, links, asked) = Default::default();
        Self { clock, runtime: runtime.map(Addresses::of), latest, links, asked }
    }

    /// Looks again and again.
    pub(crate) async fn watch(&self) {
        loop {
            sleep(EVERY).await;
            self.look().await;
        }
    }

    /// Looks at the kernel's links again and again while somebody asks for one.
    pub(crate) async fn watch_links(&self) {
        loop {
            self.asked.notified().await;
            let at = self.clock.monotonic();
            let links = async { Kernel::connect()?.links().await };
            let links = links.await.map(|links| {
                let macs = links.iter().filter_map(|link| link.mac.map(|mac| mac.to_string()));
                (at, macs.collect())
            });
            *self.links.lock().unwrap_or_else(PoisonError::into_inner) = links.ok();
            sleep(SOON).await;
        }
    }

    /// Looks once.
    pub(crate) async fn look(&self) {
        let at = self.clock.monotonic();
        let named = in_use(self.runtime.as_ref()).await;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(WitnessLook { at, named });
    }
}

/// Names, in words for people, the user of each address that the kernel or the runtime knows of.
///
/// # Errors
/// When the kernel or the runtime does not answer.
pub(crate) async fn in_use(runtime: Option<&Addresses>) -> Result<BTreeMap<IpAddr, String>, String> {
    let hosts = async { Kernel::connect()?.hosts().await };
    let hosts = hosts.await.map_err(|error| format!("the kernel does not answer: {error}"))?;
    let mut named: BTreeMap<IpAddr, String> = hosts
        .into_iter()
        .map(|(address, link)| (address, format!("the kernel reaches {address} at {link}")))
        .collect();
    if let Some(runtime) = runtime {
        let pods = runtime.look().await.map_err(|error| error.to_string())?;
        named.extend(pods.into_iter().map(|(address, sandbox)| {
            (address, format!("the container runtime has sandbox {sandbox} with {address}"))
        }));
    }
    Ok(named)
}

impl UseWitness for Looking {
    fn has_link(&self, mac: &str) -> Option<bool> {
        self.asked.notify_one();
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, macs) = links.as_ref()?;
        let is_fresh = self.clock.monotonic().saturating_sub(*at) <= FRESH;
        is_fresh.then(|| macs.contains(mac))
    }

    fn named(&self, net: IpNet) -> Result<Vec<(IpAddr, String)>, String> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let look = latest.as_ref().ok_or("nobody has looked at the kernel yet")?;
        let age = self.clock.monotonic().saturating_sub(look.at);
        if age > OLDEST {
            return Err(format!("the latest look at the kernel and the runtime is {} s old", age.as_secs()));
        }
        let named = look.named.as_ref().map_err(Clone::clone)?.range(net.network()..=net.broadcast());
        Ok(named.map(|(address, who)| (*address, who.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use tenure_aws::witness::UseVerdict;

    use super::*;
    use crate::clock::KernelClock;

    fn with(look: Option<WitnessLook>) -> Looking {
        let looking = Looking::new(Arc::new(KernelClock), None);
        *looking.latest.lock().unwrap() = look;
        looking
    }

    fn now() -> Duration {
        KernelClock.monotonic()
    }

    #[test]
    fn what_somebody_names_is_used_and_the_rest_is_not() {
        let address: IpAddr = "10.0.0.20".parse().unwrap();
        let named = BTreeMap::from([(address, "somebody".to_owned())]);
        let looking = with(Some(WitnessLook { at: now(), named: Ok(named) }));
        let verdict =
            |nets: &[&str]| looking.names(&nets.iter().map(|net| net.parse().unwrap()).collect::<Vec<_>>());
        let used = UseVerdict::Used("somebody".to_owned());
        assert_eq!(verdict(&["10.0.0.20/32"]), used);
        assert_eq!(verdict(&["10.0.1.0/28", "10.0.0.16/28"]), used);
        assert_eq!(verdict(&["10.0.0.32/28", "10.0.0.19/32", "fd00::/80"]), UseVerdict::Unused);
        assert_eq!(verdict(&[]), UseVerdict::Unused);
    }

    #[test]
    fn no_look_an_old_one_and_one_in_vain_are_no_evidence() {
        let old = now().saturating_sub(OLDEST + Duration::from_secs(1));
        let looks = [
            None,
            Some(WitnessLook { at: old, named: Ok(BTreeMap::new()) }),
            Some(WitnessLook { at: now(), named: Err("no answer".to_owned()) }),
        ];
        for look in looks {
            let words = format!("{look:?}");
            let verdict = with(look).names(&["10.0.0.20/32".parse().unwrap()]);
            assert!(matches!(verdict, UseVerdict::Unknown(_)), "{words}: {verdict:?}");
        }
    }

    #[tokio::test]
    async fn the_kernel_names_what_it_has_routes_to() {
        let looking = with(None);
        looking.look().await;
        let verdict = looking.names(&["203.0.113.0/28".parse().unwrap()]);
        assert_eq!(verdict, UseVerdict::Unused);
    }
}
