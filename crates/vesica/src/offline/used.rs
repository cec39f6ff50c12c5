//! The lists of what this side has used: one beside the file, one in the user's state folder.
//!
//! A copy of a file has its id, so it is refused wherever it lies. Each list is a text that only its owner can read: an id
//! and a role a line, since both parties may be on one machine. Nothing is ever taken out.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use vesica_net::private_file::{self, PrivateFileError};
use vesica_protocols::Role;

use super::{Id, hex};
use crate::system::{self, sync_folder};

/// The name of the list beside a file.
const BESIDE: &str = ".vesica-used-offline";
/// The most bytes of a list: a million lines.
const LIMIT: u64 = 74 << 20;
/// How often a list is tried that another run holds.
const AGAIN: Duration = Duration::from_millis(20);

/// Why a list does not let something be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsedFault {
    #[error("it was used before")]
    Used,
    #[error("the run was interrupted")]
    Cancelled,
    #[error("{}", system::NO_STATE_FOLDER)]
    NoStateFolder,
    #[error("the list of used ids {path}: {fault}")]
    List { path: String, fault: PrivateFileError },
}

/// What the lists have of a file.
#[derive(Clone, Copy)]
pub(crate) struct Use(pub(crate) Id, pub(crate) Role);

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", hex(&self.0), self.1)
    }
}

/// Where the lists are.
pub(crate) struct UsedIds {
    paths: [PathBuf; 2],
}

/// The lists, held by this run alone.
pub(crate) struct LockedIds(Vec<(PathBuf, File)>);

impl UsedIds {
    /// The lists for a file in this folder; `state` in place of the user's state folder.
    pub(crate) fn beside(folder: &Path, state: Option<&Path>) -> Result<Self, UsedFault> {
        let users = || system::state_folder().map(|folder| folder.join("vesica"));
        let state = state.map(Path::to_owned).or_else(users).ok_or(UsedFault::NoStateFolder)?;
        Ok(UsedIds { paths: [folder.join(BESIDE), state.join("used-offline")] })
    }

    /// Refuses what a list has. A list that is not there yet has nothing.
    pub(crate) fn check(&self, used: Use) -> Result<(), UsedFault> {
        for path in &self.paths {
            match private_file::open(path) {
                Ok(file) => read(path, &file, used)?,
                Err(PrivateFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(fault) => return Err(list(path, fault)),
            }
        }
        Ok(())
    }

    /// Makes the lists that are not there, and holds both until the value is dropped. Waits for another run that holds
    /// one.
    pub(crate) fn lock(&self, cancelled: &dyn Fn() -> bool) -> Result<LockedIds, UsedFault> {
        let held = self.paths.iter().map(|path| {
            let failed = |fault| list(path, fault);
            let file = open(path).map_err(failed)?;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok((path.clone(), file)),
                    Err(TryLockError::WouldBlock) if cancelled() => return Err(UsedFault::Cancelled),
                    Err(TryLockError::WouldBlock) => thread::sleep(AGAIN),
                    Err(TryLockError::Error(error)) => return Err(failed(error.into())),
                }
            }
        });
        held.collect::<Result<_, _>>().map(LockedIds)
    }
}

impl LockedIds {
    /// Puts it on the lists. When this returns, they are on the disk.
    pub(crate) fn add(&mut self, used: Use) -> Result<(), UsedFault> {
        for (path, file) in &self.0 {
            read(path, file, used)?;
        }
        for (path, file) in &mut self.0 {
            append(file, used).map_err(|error| list(path, error.into()))?;
        }
        Ok(())
    }
}

/// Opens a list, which is made if it is not there, with its folder.
fn open(path: &Path) -> Result<File, PrivateFileError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_file::create_folder(folder)?;
    }
    match private_file::create_new(path) {
        Ok(_) => sync_folder(path)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    private_file::open(path)
}

/// Whether it may still be used.
fn read(path: &Path, mut file: &File, used: Use) -> Result<(), UsedFault> {
    let failed = |error: io::Error| list(path, error.into());
    if file.metadata().map_err(failed)?.len() > LIMIT {
        return Err(list(path, PrivateFileError::NotAFile));
    }
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let used = used.to_string();
    for line in BufReader::new(file.take(LIMIT)).split(b'\n') {
        if line.map_err(failed)? == used.as_bytes() {
            return Err(UsedFault::Used);
        }
    }
    Ok(())
}

fn append(file: &mut File, used: Use) -> io::Result<()> {
    // A line that a crash has cut off is ended first.
    let end = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if end > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let start = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{start}{used}\n").as_bytes())?;
    file.sync_all()
}

fn list(path: &Path, fault: PrivateFileError) -> UsedFault {
    UsedFault::List { path: vesica_table::shown_path(path), fault }
}

/// Whether a path is there, also as a link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    fn of(number: u8) -> Use {
        Use([number; 32], Role::Receiver)
    }

    fn lists(folder: &Path) -> UsedIds {
        UsedIds { paths: [folder.join("here"), folder.join("state/vesica/there")] }
    }

    #[test]
    fn an_id_is_used_once_and_each_list_knows_it() {
        let folder = tempfile::tempdir().unwrap();
        let lists = lists(folder.path());
        for number in 0..3 {
            lists.check(of(number)).unwrap();
            lists.lock(&|| false).unwrap().add(of(number)).unwrap();
            assert!(matches!(lists.check(of(number)), Err(UsedFault::Used)));
            assert!(matches!(lists.lock(&|| false).unwrap().add(of(number)), Err(UsedFault::Used)));
        }
        let text = fs::read_to_string(&lists.paths[0]).unwrap();
        assert_eq!(text.len(), 3 * 74);
        lists.check(Use([1; 32], Role::Sender)).unwrap();
        for lost in 0..2 {
            let kept = fs::read(&lists.paths[lost]).unwrap();
            fs::remove_file(&lists.paths[lost]).unwrap();
            assert!(matches!(lists.check(of(1)), Err(UsedFault::Used)), "list {lost} is lost");
            fs::write(&lists.paths[lost], kept).unwrap();
            fs::set_permissions(&lists.paths[lost], std::os::unix::fs::PermissionsExt::from_mode(0o600))
                .unwrap();
        }
    }

    #[test]
    fn a_line_that_a_crash_cut_off_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let lists = lists(folder.path());
        lists.lock(&|| false).unwrap().add(of(1)).unwrap();
        let file = OpenOptions::new().write(true).open(&lists.paths[0]).unwrap();
        file.set_len(30).unwrap();
        lists.lock(&|| false).unwrap().add(of(2)).unwrap();
        for number in 1..3 {
            assert!(matches!(lists.check(of(number)), Err(UsedFault::Used)));
        }
    }

    #[test]
    fn lists_that_others_can_change_and_lists_that_are_none_let_nothing_pass() {
        let folder = tempfile::tempdir().unwrap();
        let lists = lists(folder.path());
        lists.lock(&|| false).unwrap().add(of(1)).unwrap();
        let mode = |mode| {
            fs::set_permissions(&lists.paths[0], std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        };
        mode(0o666);
        let exposed = lists.check(of(2));
        assert!(matches!(exposed, Err(UsedFault::List { fault: PrivateFileError::Exposed { .. }, .. })));
        mode(0o600);
        OpenOptions::new().write(true).open(&lists.paths[0]).unwrap().set_len(LIMIT + 1).unwrap();
        assert!(matches!(lists.check(of(2)), Err(UsedFault::List { .. })));
        fs::remove_file(&lists.paths[0]).unwrap();
        fs::create_dir(&lists.paths[0]).unwrap();
        assert!(matches!(lists.check(of(2)), Err(UsedFault::List { .. })));
        assert!(lists.lock(&|| false).is_err());
    }

    #[test]
    fn two_runs_at_once_wait_for_each_other_and_a_cancelled_one_ends() {
        let folder = tempfile::tempdir().unwrap();
        let lists = lists(folder.path());
        let held = lists.lock(&|| false).unwrap();
        assert!(matches!(lists.lock(&|| true), Err(UsedFault::Cancelled)));
        drop(held);
        assert!(lists.lock(&|| true).is_ok());
    }
}
