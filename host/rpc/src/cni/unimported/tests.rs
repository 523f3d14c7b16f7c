use std::fs::{self, File};
use std::sync::Arc;

use tenure_types::NetworkConfig;

use super::*;

fn network(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

fn compared(ipam: &str, sources: &[String]) -> Compared {
    let config = Arc::new(NetworkConfig { ipam: ipam.to_owned(), attributes: Vec::new() });
    let sources = sources.iter().map(|source| Arc::from(source.as_str())).collect();
    Compared { network: network("pods"), config, sources, removals: 0, now_ms: u64::MAX }
}

fn knows(address: &'static str) -> IsKnown {
    Box::new(move |reservation| reservation.address.to_string() == address)
}

fn nothing() -> IsKnown {
    knows("")
}

#[test]
fn an_address_of_the_same_network_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let look = |name: &str, is_known: &IsKnown| host_local::look(data, &network(name), is_known);
    assert_eq!(look("pods", &nothing()), Ok(()), "no directory");
    fs::create_dir(data.join("pods")).unwrap();
    for own in ["lock", "last_reserved_ip.0", "notes.txt"] {
        fs::write(data.join("pods").join(own), "10.1.0.2").unwrap();
    }
    assert_eq!(look("pods", &nothing()), Ok(()), "nothing but bookkeeping");
    fs::write(data.join("pods/10.1.0.2"), "").unwrap();
    let refused = look("pods", &nothing()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotTakenOver);
    let command = format!("tenurectl import --apply host-local {} --config", data.display());
    assert!(refused.cause.contains(&command) && refused.cause.contains("10.1.0.2"), "{refused}");
    assert_eq!(look("pods", &knows("10.1.0.2")), Ok(()), "the ledger has it");
    assert_eq!(look("blue", &nothing()), Ok(()), "another network's");
    fs::write(data.join("blue"), "").unwrap();
    assert_eq!(look("blue", &nothing()), Ok(()), "not a directory");
}

#[test]
fn nothing_is_known_while_host_local_works() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    fs::create_dir(&pods).unwrap();
    let lock = File::create(pods.join("lock")).unwrap();
    let mode = |mode| lock.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o750);
    let look = || host_local::look(directory.path(), &network("pods"), &nothing());
    assert_eq!(look(), Ok(()));
    lock.lock().unwrap();
    let refused = look().unwrap_err();
    assert!(refused.code == ErrorCode::NotTakenOver && refused.cause.contains("at work"), "{refused}");
    mode(0o755);
    assert_eq!(look(), Ok(()), "everybody could hold this lock");
}

#[test]
fn a_row_of_ipamd_is_as_good_as_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ipam.json");
    let look = |is_known: &IsKnown| ipamd::look(&file, &network("pods"), is_known);
    assert_eq!(look(&nothing()), Ok(()), "no file");
    fs::write(&file, r#"{"allocations": [{"containerID": "c1", "ifName": "eth0", "ipv4": "10.1.0.2"}]}"#)
        .unwrap();
    assert!(look(&nothing()).unwrap_err().cause.contains("10.1.0.2"));
    assert_eq!(look(&knows("10.1.0.2")), Ok(()));
    fs::write(&file, "{").unwrap();
    assert_eq!(look(&nothing()).unwrap_err().code, ErrorCode::NotTakenOver);
}

#[test]
fn where_to_look_is_what_the_configuration_and_the_moves_name() {
    let states = |ignore: bool, ipam: &str, sources: &[String]| {
        Unimported::new(ignore).states(&compared(ipam, sources))
    };
    let at = |path: &str| OtherState::HostLocal(path.into());
    assert_eq!(states(false, "{}", &[]), [at(DEFAULT_DIRECTORY)]);
    assert_eq!(states(false, r#"{"dataDir": ""}"#, &[]), [at(DEFAULT_DIRECTORY)]);
    assert_eq!(states(false, r#"{"dataDir": "data"}"#, &[]), []);
    // As Go reads keys.
    for ipam in [r#"{"datadir": "/a"}"#, r#"{"dataDir": "/b", "DATADIR": "/a"}"#, r#"{"data\u0044ir": "/a"}"#]
    {
        assert_eq!(states(false, ipam, &[]), [at("/a")], "{ipam}");
    }
    let sources = ["host-local /a", "host-local /b", "ipamd /c", "by hand"].map(str::to_owned);
    let ipamd = OtherState::Ipamd("/c".into());
    assert_eq!(states(false, r#"{"dataDir": "/a"}"#, &sources), [at("/a"), at("/b"), ipamd.clone()]);
    assert_eq!(states(true, "{}", &sources), [ipamd]);
}

#[tokio::test]
async fn a_good_look_lasts_until_something_changes() {
    let directory = tempfile::tempdir().unwrap();
    let pods = directory.path().join("pods");
    fs::create_dir(&pods).unwrap();
    fs::write(pods.join("10.1.0.2"), "").unwrap();
    let unimported = Unimported::new(false);
    let compared = compared(&format!(r#"{{"dataDir": "{}"}}"#, directory.path().display()), &[]);
    assert!(unimported.look(&compared, nothing()).await.is_err() && !unimported.is_unchanged(&compared));
    let recent = Compared { now_ms: 0, ..compared.clone() };
    unimported.look(&recent, knows("10.1.0.2")).await.unwrap();
    assert!(!unimported.is_unchanged(&compared), "another change in the same tick would not show");
    unimported.look(&compared, knows("10.1.0.2")).await.unwrap();
    assert!(unimported.is_unchanged(&compared));
    assert!(!unimported.is_unchanged(&Compared { removals: 1, ..compared.clone() }));
    fs::write(pods.join("10.1.0.3"), "").unwrap();
    assert!(!unimported.is_unchanged(&compared));
}

#[tokio::test]
async fn what_can_be_read_or_is_not_there_can_be_compared() {
    let directory = tempfile::tempdir().unwrap();
    let (data, pods) = (directory.path(), network("pods"));
    let file = data.join("ipam.json");
    fs::write(&file, "{}").unwrap();
    // What leads to itself cannot be opened, also not by root.
    let hidden = data.join("hidden");
    std::os::unix::fs::symlink(&hidden, &hidden).unwrap();
    let unimported = Unimported::new(false);
    let read = async |source: String| unimported.can_read(&pods, &source).await;
    let (file, data, hidden) = (file.display(), data.display(), hidden.display());
    for source in [format!("ipamd {file}"), format!("ipamd {data}/none"), format!("host-local {data}")] {
        assert_eq!(read(source.clone()).await, Ok(()), "{source}");
    }
    assert_eq!(read("import".to_owned()).await, Ok(()));
    let of = format!("{HOST_LOCAL_NETWORK} {hidden}");
    for source in [format!("ipamd {hidden}"), format!("host-local {hidden}"), of.clone()] {
        let refused = read(source).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InputOutput);
        assert!(
            refused.cause.contains(&hidden.to_string()) && refused.next_step().contains("cp -a"),
            "{refused}"
        );
    }
    assert_eq!(Unimported::new(true).can_read(&pods, &of).await, Ok(()), "it is not compared");
}

#[test]
fn who_is_refused_for_what_cannot_be_read_is_told_how_to_let_go_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let hidden = directory.path().join("hidden");
    std::os::unix::fs::symlink(&hidden, &hidden).unwrap();
    let path = hidden.display();
    let refused = ipamd::look(&hidden, &network("pods"), &nothing()).unwrap_err();
    let let_go = format!("`tenurectl import abandon pods --source 'ipamd {path}' --apply`");
    assert!(refused.cause.contains(&let_go) && !refused.next_step().contains("host_local"), "{refused}");
    let refused = host_local::look_renamed(&hidden, &network("pods"), &nothing()).unwrap_err();
    let let_go = format!("`tenurectl import abandon pods --source '{HOST_LOCAL_NETWORK} {path}' --apply`");
    assert!(refused.next_step().contains(&let_go), "{}", refused.next_step());
}

/// Regression: each look took one of eight places until the server was back, and then no network was compared any more.
#[tokio::test]
async fn a_look_that_hangs_is_waited_for_once_and_holds_up_no_other_network() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["pods", "blue"] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("10.1.0.2"), "").unwrap();
    }
    let mut unimported = Unimported::new(false);
    unimported.limit = Duration::from_millis(200);
    let pods = compared(&format!(r#"{{"dataDir": "{}"}}"#, directory.path().display()), &[]);
    let blue = Compared { network: network("blue"), ..pods.clone() };
    let (is_back, waits) = std::sync::mpsc::channel::<()>();
    let hanging = Arc::new(std::sync::Mutex::new((waits, 0)));
    let hangs = || -> IsKnown {
        let hanging = Arc::clone(&hanging);
        Box::new(move |_| {
            let mut hanging = hanging.lock().unwrap();
            hanging.1 += 1;
            // Until the sender is dropped.
            hanging.0.recv().is_err()
        })
    };
    let refused = unimported.look(&pods, hangs()).await.unwrap_err();
    assert!(
        refused.code == ErrorCode::NotTakenOver && refused.cause.contains("could not be read"),
        "{refused}"
    );
    for _ in 0..=AT_ONCE {
        let refused = timeout(unimported.limit / 2, unimported.look(&pods, hangs())).await;
        let refused = refused.expect("nobody waits again").unwrap_err();
        assert!(refused.cause.contains("still being read"), "{refused}");
    }
    unimported.look(&blue, knows("10.1.0.2")).await.unwrap();
    drop(is_back);
    let read_again = async {
        while unimported.look(&pods, knows("10.1.0.2")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), read_again).await.expect("the server is back");
    assert_eq!(hanging.lock().unwrap().1, 1, "one thread");
}

/// Regression: a look whose caller had left counted as one that hangs, and the next caller was refused without a look.
#[tokio::test]
async fn who_looks_after_a_caller_that_has_left_is_answered_by_a_look() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("pods")).unwrap();
    fs::write(directory.path().join("pods/10.1.0.2"), "").unwrap();
    let unimported = Unimported::new(false);
    let pods = compared(&format!(r#"{{"dataDir": "{}"}}"#, directory.path().display()), &[]);
    let (is_back, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    let slow: IsKnown = Box::new(move |_| waits.lock().unwrap().recv().is_err());
    timeout(Duration::from_millis(100), unimported.look(&pods, slow)).await.unwrap_err();
    unimported.look(&pods, knows("10.1.0.2")).await.unwrap();
    drop(is_back);
}
