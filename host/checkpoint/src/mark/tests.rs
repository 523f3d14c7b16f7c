use super::*;

fn boot(id: &str) -> BootId {
    BootId(id.to_owned())
}

const DURABLE: Durable = Durable { fact: 42, log: 7, length: 123_456, group: 612, checksum: 0x1a2b };

#[test]
fn a_mark_is_read_as_it_was_written_in_its_boot() {
    let directory = tempfile::tempdir().unwrap();
    let read = |id| Mark::read(directory.path(), &boot(id)).unwrap();
    assert_eq!(read("a"), Mark::None);
    let mut pen = Pen::new(directory.path(), &boot("a"));
    for fact in [1, u64::MAX, 42] {
        pen.write(false, &Durable { fact, ..DURABLE }).unwrap();
    }
    assert_eq!(read("a"), Mark::Seen(Some(DURABLE)));
    assert_eq!(read("b"), Mark::None);
    assert_eq!(Mark::boot(directory.path()).unwrap(), Some(boot("a")));
    pen.write(true, &DURABLE).unwrap();
    assert_eq!(read("a"), Mark::Lost);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn whatever_is_wrong_with_a_mark_it_is_not_believed() {
    let whole = line(&boot("a"), false, &DURABLE);
    let parse = |text: &str| Mark::parse(text, &boot("a"));
    assert_eq!(parse(&whole), Mark::Seen(Some(DURABLE)));
    for cut in 0..whole.len() - 1 {
        assert_eq!(parse(&whole[..cut]), Mark::Unreadable, "{cut} bytes");
    }
    for (from, to) in [("seen", "lost"), ("42 ", "43 "), ("1a2b", "1a2c")] {
        assert_eq!(parse(&whole.replacen(from, to, 1)), Mark::Unreadable, "{from}");
    }
    assert_eq!(parse("nonsense\n"), Mark::Unreadable);
}

#[test]
fn the_marks_of_older_daemons_are_understood() {
    for (text, mark) in [
        ("a seen\n", Mark::Seen(None)),
        ("a lost\n", Mark::Lost),
        ("b seen\n", Mark::None),
        ("b lost\n", Mark::None),
    ] {
        assert_eq!(Mark::parse(text, &boot("a")), mark, "{text}");
    }
}

#[test]
fn a_mark_that_cannot_be_read_is_not_none() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(NAME)).unwrap();
    assert!(Mark::read(directory.path(), &boot("a")).is_err());
    assert!(Mark::boot(directory.path()).is_err());
    assert!(Mark::running_boot(directory.path(), &BootSource::unknown(boot("a"))).is_err());
}

#[test]
fn where_there_is_no_mark_there_is_no_boot_of_it() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Mark::boot(directory.path()).unwrap(), None);
}

#[test]
fn a_mark_is_overwritten_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let inode = || fs::metadata(directory.path().join(NAME)).unwrap().ino();
    let mut pen = Pen::new(directory.path(), &boot("a"));
    pen.write(false, &DURABLE).unwrap();
    let first = inode();
    pen.write(true, &DURABLE).unwrap();
    assert_eq!((inode(), Mark::read(directory.path(), &boot("a")).unwrap()), (first, Mark::Lost));
}

#[test]
fn what_is_lost_is_said_by_the_mark_or_by_what_the_recovery_found() {
    let report = |last, lost| RecoveryReport { last, lost, ..RecoveryReport::default() };
    let (empty, whole, less) = (report(0, false), report(42, false), report(42, true));
    for (mark, durable, lost) in [
        (Mark::None, None, [false, false, false]),
        (Mark::Seen(Some(DURABLE)), Some(&DURABLE), [false, false, true]),
        (Mark::Seen(None), None, [true, false, false]),
        (Mark::Lost, None, [true, true, true]),
        (Mark::Unreadable, None, [true, true, true]),
    ] {
        assert_eq!(
            (mark.durable(), [&empty, &whole, &less].map(|report| mark.is_lost(report))),
            (durable, lost)
        );
    }
}

#[test]
fn an_id_from_another_file_goes_on_with_the_boot_until_that_file_changes() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path();
    let source =
        |id: &str, kernel: &str, file: &str| BootSource::parse(&format!("{id} {kernel} {file}")).unwrap();
    let runs = |of: &BootSource| Mark::running_boot(run, of).unwrap().0;
    let writes = |id: &str, of: &BootSource| {
        Pen::new(run, &boot(id)).with_source(of.clone()).write(false, &DURABLE).unwrap();
    };
    let kernels = source("k", "k", "/proc/boot_id");
    assert_eq!(runs(&kernels), "k", "there is no mark");
    writes("k", &kernels);
    // The key is set, and removed again.
    let own = source("a", "k", "/run/boot");
    assert_eq!(runs(&own), "k");
    assert_eq!(runs(&source("a", "l", "/run/boot")), "a", "the kernel has booted as well");
    assert_eq!(runs(&source("a", "-", "/run/boot")), "a", "nobody knows whether it has");
    writes("k", &own);
    assert_eq!((runs(&own), runs(&kernels)), ("k".to_owned(), "k".to_owned()));
    assert_eq!(Mark::read(run, &boot("k")).unwrap(), Mark::Seen(Some(DURABLE)));
    // A node in a container boots, on a kernel that does not.
    let next = source("b", "k", "/run/boot");
    assert_eq!(runs(&next), "b");
    writes("b", &next);
    assert_eq!((runs(&next), runs(&source("c", "k", "/run/boot"))), ("b".to_owned(), "c".to_owned()));
    assert_eq!(runs(&source("b", "k", "/other/path/of/it")), "b");
    assert_eq!(runs(&BootSource::unknown(boot("b"))), "b");
    assert_eq!(runs(&BootSource::unknown(boot("d"))), "d");
    // An older daemon has written since, which recorded nothing; and a torn mark says nothing.
    for text in [line(&boot("k"), false, &DURABLE), format!("torn\n{}", own.line())] {
        fs::write(run.join(NAME), text).unwrap();
        assert_eq!((runs(&own), runs(&kernels)), ("a".to_owned(), "k".to_owned()));
    }
}

#[test]
fn the_mark_of_each_id_that_a_start_accepts_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    for text in ["a", "2026-11-28T05:00:12\n", " ü:/% ", "seen", "lost"] {
        let boot = crate::parse_boot_id(text).unwrap();
        Pen::new(directory.path(), &boot).write(false, &DURABLE).unwrap();
        assert_eq!(Mark::read(directory.path(), &boot).unwrap(), Mark::Seen(Some(DURABLE)), "{text:?}");
    }
}

#[test]
fn a_mark_that_was_taken_away_or_could_not_be_written_is_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut pen = Pen::new(&run, &boot("a"));
    assert!(pen.write(false, &DURABLE).is_err());
    fs::create_dir(&run).unwrap();
    pen.write(false, &DURABLE).unwrap();
    assert_eq!(Mark::read(&run, &boot("a")).unwrap(), Mark::Seen(Some(DURABLE)));
    // Regression: the next marks went into the file that nobody reads any more.
    for remake in [true, false] {
        fs::remove_dir_all(&run).unwrap();
        assert!(pen.write(false, &DURABLE).is_err(), "the directory is gone");
        fs::create_dir(&run).unwrap();
        if remake {
            fs::write(run.join(NAME), "somebody's").unwrap();
        }
        pen.write(false, &DURABLE).unwrap();
        assert_eq!(Mark::read(&run, &boot("a")).unwrap(), Mark::Seen(Some(DURABLE)));
    }
    fs::remove_file(run.join(NAME)).unwrap();
    pen.write(true, &DURABLE).unwrap();
    assert_eq!(Mark::read(&run, &boot("a")).unwrap(), Mark::Lost);
}
