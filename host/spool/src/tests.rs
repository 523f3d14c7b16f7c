use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn invocation(started_at_boot_ns: u64) -> Invocation {
    Invocation {
        container_id: "c".into(),
        interface: "eth0".into(),
        config: br#"{"name": "net"}"#.to_vec(),
        started_at_boot_ns,
        ..Invocation::default()
    }
}

/// A spool in a run directory, still empty.
fn spool() -> (tempfile::TempDir, Spool) {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::beside(&directory.path().join("cni.sock"));
    (directory, spool)
}

fn read_all(spool: &Spool) -> Vec<Invocation> {
    spool.waiting().unwrap().iter().map(|path| spool.read(path).unwrap()).collect()
}

#[test]
fn namesakes_do_not_replace_each_other() {
    let (_directory, spool) = spool();
    for container in ["one", "two"] {
        spool.write(&Invocation { container_id: container.into(), ..invocation(7) }).unwrap();
    }
    let containers: Vec<_> = read_all(&spool).into_iter().map(|invocation| invocation.container_id).collect();
    assert_eq!(containers, ["one", "two"]);
}

#[test]
fn no_more_files_wait_than_the_run_directory_has_room_for() {
    let (_directory, spool) = spool();
    let first = spool.write_verb(Verb::Del, &invocation(0)).unwrap();
    for number in 1..MOST_WAITING {
        fs::write(spool.directory.join(format!("{number:020}-1-0.json")), "").unwrap();
    }
    fs::write(spool.directory.join("another.json.refused"), "").unwrap();
    let error = spool.write(&invocation(7)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("20000 DELs and GCs wait"), "{error}");
    spool.settle(&first).unwrap();
    spool.write(&invocation(7)).unwrap();
}

/// Regression: in a run directory that outlives a boot, a GC counted as begun now, and freed the pods that it did not list.
#[test]
fn what_another_boot_has_left_is_not_replayed() {
    let (_directory, spool) = spool();
    let path = spool.write_verb(Verb::Gc, &invocation(7)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(text.contains(boot.trim()), "{text}");
    fs::write(&path, text.replace(boot.trim(), "another")).unwrap();
    let refused = spool.read(&path).unwrap_err();
    assert_eq!(
        (refused.kind(), refused.to_string().as_str()),
        (io::ErrorKind::InvalidData, "it is of another boot")
    );
    fs::write(&path, text.replace(boot.trim(), "")).unwrap();
    assert!(spool.read(&path).is_ok(), "an older version does not say");
}

#[test]
fn dels_are_read_in_the_order_in_which_they_began() {
    let (_directory, spool) = spool();
    assert_eq!(spool.waiting().unwrap(), Vec::<PathBuf>::new());
    for started in [10_000_000, 9, 200] {
        spool.write(&invocation(started)).unwrap();
    }
    assert_eq!(read_all(&spool), [invocation(9), invocation(200), invocation(10_000_000)]);

    for path in spool.waiting().unwrap() {
        spool.settle(&path).unwrap();
    }
    assert_eq!(fs::read_dir(&spool.directory).unwrap().count(), 0, "no draft is left");
}

#[test]
fn a_gc_is_told_from_a_del_and_replayed_in_its_turn() {
    let (_directory, spool) = spool();
    let gc = spool.write_verb(Verb::Gc, &invocation(20)).unwrap();
    spool.write(&invocation(10)).unwrap();
    spool.write(&invocation(30)).unwrap();
    let verbs: Vec<_> = spool.waiting().unwrap().iter().filter_map(|path| Verb::of(path)).collect();
    assert_eq!(verbs, [Verb::Del, Verb::Gc, Verb::Del]);
    assert_eq!(spool.waiting().unwrap()[1], gc);
    let aside = spool.set_aside(&gc, Aside::Refused).unwrap();
    assert!(aside.to_string_lossy().ends_with(".gc.refused"), "{}", aside.display());
    assert_eq!(read_all(&spool), [invocation(10), invocation(30)]);
}

#[test]
fn drafts_are_left_alone() {
    let (_directory, spool) = spool();
    spool.write(&invocation(1)).unwrap();
    fs::write(spool.directory.join(".0-1.json"), "half").unwrap();
    assert_eq!(read_all(&spool), [invocation(1)]);
}

#[test]
fn what_is_no_del_is_known_for_that_and_keeps_its_bytes() {
    let (_directory, spool) = spool();
    spool.write(&invocation(5)).unwrap();
    let at = |name: &str| spool.directory.join(name);
    fs::write(at("1.json"), "not json").unwrap();
    fs::create_dir(at("2.json")).unwrap();
    fs::write(at("8.json"), r#"{"config": "{}"}"#).unwrap();
    std::os::unix::fs::symlink("nowhere", at("3.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", at("4.json")).unwrap();
    let pipe = rustix::fs::CWD;
    rustix::fs::mknodat(pipe, at("6.json"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    File::create(at("7.json")).unwrap().set_len(LONGEST_FILE + 1).unwrap();
    for path in spool.waiting().unwrap() {
        match spool.read(&path) {
            Ok(found) => assert_eq!(found, invocation(5)),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{}: {error}", path.display());
                spool.set_aside(&path, Aside::Unreadable).unwrap();
            }
        }
    }
    assert_eq!(read_all(&spool), [invocation(5)], "they are not read again");
    assert_eq!(fs::read_to_string(at("1.json.unreadable")).unwrap(), "not json");
}

#[test]
fn what_was_set_aside_before_is_kept() {
    let (_directory, spool) = spool();
    spool.write(&invocation(1)).unwrap();
    let path = spool.directory.join("9.json");
    let mut names = Vec::new();
    for text in ["one", "two", "three"] {
        fs::write(&path, text).unwrap();
        names.push(spool.set_aside(&path, Aside::Refused).unwrap());
    }
    let texts: Vec<_> = names.iter().map(|name| fs::read_to_string(name).unwrap()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert_eq!(names[0], spool.directory.join("9.json.refused"));
}

#[test]
fn a_newer_plugins_file_is_understood() {
    let (_directory, spool) = spool();
    fs::create_dir(&spool.directory).unwrap();
    let text = r#"{"config": "{}", "started_at_boot_ns": 5, "since_then_invented": [1]}"#;
    fs::write(spool.directory.join("5-1.json"), text).unwrap();
    assert_eq!(read_all(&spool)[0].started_at_boot_ns, 5);
}

#[test]
fn only_a_run_directory_that_a_daemon_would_use_gets_a_spool() {
    let directory = tempfile::tempdir().unwrap();
    let mistyped = directory.path().join("tenur/cni.sock");
    let error = Spool::beside(&mistyped).write(&invocation(1)).unwrap_err();
    assert!(error.to_string().contains("tenured creates it when it starts"), "{error}");
    assert!(!directory.path().join("tenur").exists(), "no daemon would ever look there");

    let shared = directory.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let error = Spool::beside(&shared.join("cni.sock")).write(&invocation(1)).unwrap_err();
    assert!(error.to_string().contains("any user can write to it"), "{error}");
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);

    fs::write(directory.path().join("file"), "").unwrap();
    for in_the_way in ["file/cni.sock", "file/below/cni.sock"] {
        assert!(Spool::beside(&directory.path().join(in_the_way)).write(&invocation(1)).is_err());
    }
    fs::write(directory.path().join("spool"), "in the way").unwrap();
    assert!(Spool::beside(&directory.path().join("cni.sock")).write(&invocation(1)).is_err());
}
