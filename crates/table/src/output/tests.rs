// Modes, links and devices are what is tested here.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use std::fs::{self, OpenOptions};

use super::*;
use crate::error::Fault;
use crate::input::Input;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write(output: Output, bytes: &[u8]) -> Result<(), TableError> {
    output.commit(&|| false, |out| {
        out.write_all(bytes).map_err(|source| TableError::Write { path: "?".into(), source })
    })
}

fn refused(path: &Path, inputs: &[&FileId]) -> OutputFault {
    match Output::check(path, inputs) {
        Err(TableError::Output { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let directory = tempfile::tempdir().unwrap();
    let (path, usual) = (directory.path().join("out.csv"), directory.path().join("usual"));
    File::create(&usual).unwrap();
    let output = Output::check(&path, &[]).unwrap();
    assert_eq!(names(directory.path()), ["usual"], "a check leaves nothing");
    write(output, b"result").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"result");
    assert_eq!(names(directory.path()), ["out.csv", "usual"]);
    assert_eq!(fs::metadata(&path).unwrap().mode(), fs::metadata(&usual).unwrap().mode());
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    for mode in [0o600, 0o640, 0o666] {
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = Output::check(&path, &[]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(output, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
    }
}

#[test]
fn nothing_is_left_after_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    for before in [None, Some(b"old")] {
        if let Some(old) = before {
            fs::write(&path, old).unwrap();
        }
        let files = names(directory.path());
        let error = Output::check(&path, &[]).unwrap().commit::<()>(&|| false, |out| {
            out.write_all(&[b'x'; 100_000]).unwrap();
            Err(TableError::Cancelled)
        });
        assert!(matches!(error, Err(TableError::Cancelled)));
        let panicked = std::panic::catch_unwind(|| {
            Output::check(&path, &[]).unwrap().commit::<()>(&|| false, |_| panic!("in the middle")) //
        });
        assert!(panicked.is_err());
        assert_eq!(names(directory.path()), files);
        assert_eq!(fs::read(&path).ok().as_deref(), before.map(|old| &old[..]));
    }
    let failed = |_: &mut (dyn Write + Send)| {
        let source = io::ErrorKind::StorageFull.into();
        Err::<(), _>(TableError::Write { path: "output".into(), source })
    };
    let error = Output::check(&path, &[]).unwrap().commit(&|| false, failed).unwrap_err();
    assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
    assert_eq!(error.fault(), Fault::Output);
}

#[test]
fn an_input_is_never_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("in.csv"), b"k\na\n").unwrap();
    fs::hard_link(at("in.csv"), at("hard.csv")).unwrap();
    symlink("in.csv", at("soft.csv")).unwrap();
    symlink("soft.csv", at("softer.csv")).unwrap();
    fs::create_dir(at("sub")).unwrap();
    for opened in ["in.csv", "soft.csv", "hard.csv"] {
        let input = Input::open(&at(opened)).unwrap();
        let inputs = [input.id().unwrap()];
        for name in ["in.csv", "hard.csv", "soft.csv", "softer.csv", "sub/../in.csv", "./in.csv"] {
            let fault = refused(&at(name), &inputs);
            assert!(matches!(fault, OutputFault::IsInput), "{opened} {name}: {fault:?}");
        }
        assert!(Output::check(&at("other.csv"), &inputs).is_ok());
    }
    assert_eq!(fs::read(at("in.csv")).unwrap(), b"k\na\n");
}

#[test]
fn a_link_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("real")).unwrap();
    fs::write(at("real/out.csv"), b"old").unwrap();
    symlink("real/out.csv", at("link.csv")).unwrap();
    write(Output::check(&at("link.csv"), &[]).unwrap(), b"new").unwrap();
    assert_eq!(fs::read(at("real/out.csv")).unwrap(), b"new");
    assert!(fs::symlink_metadata(at("link.csv")).unwrap().is_symlink());
    symlink("nowhere/out.csv", at("dangling.csv")).unwrap();
    assert!(matches!(refused(&at("dangling.csv"), &[]), OutputFault::NotWritable(_)));
}

#[test]
fn places_that_cannot_hold_a_file_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), b"").unwrap();
    assert!(matches!(refused(directory.path(), &[]), OutputFault::Directory));
    assert!(matches!(refused(&at("absent/"), &[]), OutputFault::Directory));
    assert!(matches!(refused(&at(".."), &[]), OutputFault::Directory));
    assert!(matches!(refused(Path::new(""), &[]), OutputFault::Directory));
    assert!(matches!(refused(&at("absent/out.csv"), &[]), OutputFault::NoDirectory));
    assert!(matches!(refused(&at("file/out.csv"), &[]), OutputFault::NotWritable(_)));
    assert_eq!(names(directory.path()), ["file"]);
    let error = Output::check(directory.path(), &[]).unwrap_err();
    assert_eq!(error.fault(), Fault::Usage);
}

#[test]
fn a_device_is_written_to_and_stays() {
    let output = Output::check(Path::new("/dev/null"), &[]).unwrap();
    write(output, b"gone").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    if Path::new("/dev/full").exists() {
        let output = Output::check(Path::new("/dev/full"), &[]).unwrap();
        assert_eq!(write(output, b"no room").unwrap_err().fault(), Fault::Output);
    }
}

#[test]
fn a_file_has_no_name_before_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    let output = Output::check(&path, &[]).unwrap();
    let during = output.commit(&|| false, |out| {
        out.write_all(b"result")?;
        Ok(names(directory.path()))
    });
    assert_eq!(during.unwrap(), Vec::<String>::new());
    assert_eq!(names(directory.path()), ["out.csv"]);
}

#[test]
fn where_it_must_have_a_name_only_the_owner_reads_it_and_it_can_be_removed() {
    let directory = tempfile::tempdir().unwrap();
    let (path, usual) = (directory.path().join("out.csv"), directory.path().join("usual"));
    File::create(&usual).unwrap();
    let place = TargetFile::new(path.clone(), directory.path().to_owned(), None).unwrap();
    let begun = || {
        let mut temporary = Temporary::with_name(&place).unwrap();
        temporary.file().write_all(b"result").unwrap();
        temporary
    };
    let temporary = begun();
    let during = names(directory.path()).into_iter().find(|name| name.ends_with(".tmp")).unwrap();
    assert_eq!(fs::metadata(directory.path().join(during)).unwrap().mode() & 0o777, 0o600);
    temporary.put(&place).unwrap();
    assert_eq!(names(directory.path()), ["out.csv", "usual"]);
    assert_eq!(fs::read(&path).unwrap(), b"result");
    assert_eq!(fs::metadata(&path).unwrap().mode(), fs::metadata(&usual).unwrap().mode());
    let left = begun();
    remove_unfinished();
    assert_eq!(names(directory.path()), ["out.csv", "usual"]);
    assert!(left.put(&place).is_err());
}

#[test]
fn a_pipe_without_a_reader_is_waited_for_until_the_caller_gives_up() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let looks = AtomicU32::new(0);
    let give_up = || looks.fetch_add(1, Relaxed) == 3;
    let output = Output::check(&path, &[]).unwrap();
    let ended = output.commit(&give_up, |out| Ok(out.write_all(b"result")?));
    assert!(matches!(ended, Err(TableError::Cancelled)), "{ended:?}");
    // A reader that stops reading holds nobody either.
    let reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    looks.store(0, Relaxed);
    let output = Output::check(&path, &[]).unwrap();
    let ended = output.commit(&give_up, |out| Ok(out.write_all(&[b'x'; 4 << 20])?));
    assert!(matches!(ended, Err(TableError::Cancelled)), "{ended:?}");
    drop(reader);
}

#[test]
fn a_named_pipe_is_left_alone_until_there_is_a_result() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    // Without a reader, opening it would wait for one.
    let output = Output::check(&path, &[]).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::read(path).unwrap()
    });
    write(output, b"result").unwrap();
    assert_eq!(reader.join().unwrap(), b"result");
    assert_eq!(names(directory.path()), ["pipe"]);
}

#[test]
fn standard_output_gets_nothing_of_a_failed_run() {
    let output = Output::check(Path::new("-"), &[]).unwrap();
    let error = output.commit::<()>(&|| false, |out| {
        out.write_all(b"this would be seen on the screen").unwrap();
        Err(TableError::Cancelled)
    });
    assert!(matches!(error, Err(TableError::Cancelled)));
}

#[test]
fn rows_for_a_stream_need_a_folder_for_them_first() {
    let output = Output::check(Path::new("/dev/null"), &[]).unwrap();
    output.spool_in(&std::env::temp_dir()).unwrap();
    let error = output.spool_in(Path::new("/nowhere")).unwrap_err();
    assert!(error.to_string().contains("none can be made in /nowhere"), "{error}");
    assert_eq!(error.fault(), Fault::Output);
}

#[test]
fn a_file_keeps_the_mode_of_its_file_system_unless_that_is_wider() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create(directory.path().join("new")).unwrap();
    let mode = fs::Permissions::from_mode;
    let refuse = |error: rustix::io::Errno| move |_: &File, _: fs::Permissions| Err(error.into());
    use rustix::io::Errno;
    file.set_permissions(mode(0o600)).unwrap();
    for error in [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS] {
        temporary::permit_by(&file, &mode(0o644), refuse(error)).unwrap();
        assert!(temporary::permit_by(&file, &mode(0o400), refuse(error)).is_err());
    }
    assert!(temporary::permit_by(&file, &mode(0o644), refuse(Errno::IO)).is_err());
    // What is so already is not asked for.
    temporary::permit_by(&file, &file.metadata().unwrap().permissions(), refuse(Errno::IO)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_synced_is_no_failure_and_a_broken_disk_is() {
    use rustix::io::Errno;
    let passes = |error: Errno| temporary::cannot_sync(&error.into());
    assert!([Errno::INVAL, Errno::OPNOTSUPP, Errno::NOSYS, Errno::ACCESS].into_iter().all(passes));
    assert!(![Errno::IO, Errno::NOSPC, Errno::DQUOT].into_iter().any(passes));
}

#[test]
fn the_bytes_of_a_mounted_file_are_replaced_and_not_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.csv");
    fs::write(&path, b"much longer than the result").unwrap();
    let number = fs::metadata(&path).unwrap().ino();
    let target = Target::Mounted(path.clone());
    let output = Output { name: "out.csv".into(), path: path.clone(), packing: Packing::None, target };
    write(output, b"result").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"result");
    assert_eq!(fs::metadata(&path).unwrap().ino(), number);
}
