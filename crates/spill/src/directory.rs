//! Where temporary files may lie.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SpillError;
use crate::system;

/// What chose a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectoryKind {
    /// The user.
    Named,
    /// `TMPDIR`.
    Environment,
    /// Nothing: `/var/tmp`, on Windows the folder that `TEMP` names.
    Usual,
}

impl DirectoryKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            DirectoryKind::Named => "named",
            DirectoryKind::Environment => "TMPDIR",
            DirectoryKind::Usual => system::USUAL,
        }
    }
}

/// A directory for temporary files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directory {
    path: PathBuf,
    kind: DirectoryKind,
}

impl Directory {
    /// The named directory; otherwise `TMPDIR`, otherwise `/var/tmp`, if it does not lie in memory. On Windows the
    /// named directory, otherwise the one that `TEMP` names.
    pub fn choose(named: Option<&Path>) -> Result<Directory, SpillError> {
        Directory::among(named, system::environment(), &system::usual())
    }

    fn among(
        named: Option<&Path>,
        environment: Option<OsString>,
        usual: &Path,
    ) -> Result<Directory, SpillError> {
        let environment = environment.filter(|path| !path.is_empty());
        let (path, kind) = match (named, environment) {
            (Some(path), _) => (path.to_owned(), DirectoryKind::Named),
            (None, Some(path)) => (path.into(), DirectoryKind::Environment),
            (None, None) => (usual.to_owned(), DirectoryKind::Usual),
        };
        let directory = Directory { path, kind };
        let in_memory =
            system::in_memory(&directory.path).map_err(|source| directory.create_error(source))?;
        if in_memory && kind != DirectoryKind::Named {
            return Err(SpillError::InMemory { directory: directory.shown() });
        }
        Ok(directory)
    }

    /// What chose it.
    pub fn kind(&self) -> DirectoryKind {
        self.kind
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that this user can still write there; none where the system does not tell (Windows).
    pub fn free(&self) -> Result<Option<u64>, SpillError> {
        system::free(&self.path).map_err(|error| self.create_error(error))
    }

    /// Checks that so many more bytes can be written, where the system tells.
    pub fn require(&self, needed: u64) -> Result<(), SpillError> {
        match self.free()? {
            Some(free) if needed > free => Err(SpillError::Room { directory: self.shown(), needed, free }),
            _ => Ok(()),
        }
    }

    /// A new file that has no name and that only this user can open.
    pub(crate) fn file(&self) -> Result<File, SpillError> {
        let file = tempfile::tempfile_in(&self.path).map_err(|source| self.create_error(source))?;
        system::make_private(&file).map_err(|source| self.create_error(source))?;
        Ok(file)
    }

    /// The path for the screen: on one line, with control characters escaped, and those that turn the text around them.
    pub(crate) fn shown(&self) -> String {
        let turns = ['\u{61c}', '\u{200e}', '\u{200f}'];
        let turns = |c| turns.contains(&c) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let escape =
            |c: char| if c.is_control() || turns(c) { c.escape_default().collect() } else { c.to_string() };
        self.path.to_string_lossy().chars().map(escape).collect()
    }

    fn create_error(&self, source: io::Error) -> SpillError {
        SpillError::Create { directory: self.shown(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named() -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::choose(Some(folder.path())).unwrap();
        (folder, directory)
    }

    #[cfg(unix)]
    #[test]
    fn what_is_needed_is_compared_with_the_room_that_is_free() {
        let (_folder, directory) = named();
        directory.require(2).unwrap();
        let refused = directory.require(u64::MAX).unwrap_err();
        assert!(matches!(refused, SpillError::Room { needed: u64::MAX, .. }), "{refused}");
    }

    #[test]
    fn the_user_comes_before_the_environment() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (root, path) = (Path::new("/"), folder.path());
        let kind = |named, environment: Option<&Path>| {
            let found = Directory::among(named, environment.map(Into::into), path).unwrap();
            (found.path.clone(), found.kind)
        };
        assert_eq!(kind(Some(path), Some(root)), (path.into(), DirectoryKind::Named));
        assert_eq!(kind(None, Some(path)), (path.into(), DirectoryKind::Environment));
        assert_eq!(kind(None, None), (path.into(), DirectoryKind::Usual));
        assert_eq!(kind(None, Some(Path::new(""))), (path.into(), DirectoryKind::Usual));
        let absent = Directory::among(Some(&path.join("absent")), None, root).unwrap_err();
        assert!(matches!(absent, SpillError::Create { .. }), "{absent}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_refused_unless_it_is_named() {
        let memory = Path::new("/dev/shm");
        if !system::in_memory(memory).unwrap_or(false) {
            return;
        }
        assert!(Directory::among(Some(memory), None, Path::new("/")).is_ok());
        let error = Directory::among(None, Some(memory.into()), Path::new("/")).unwrap_err();
        assert!(matches!(error, SpillError::InMemory { .. }), "{error}");
        let error = Directory::among(None, None, memory).unwrap_err();
        assert!(matches!(error, SpillError::InMemory { .. }), "{error}");
    }

    #[test]
    fn a_directory_is_shown_on_one_line_and_in_its_own_order() {
        let directory =
            Directory { path: "a\n\u{202e}\u{200f}\u{2066}é".into(), kind: DirectoryKind::Named };
        assert_eq!(directory.shown(), r"a\n\u{202e}\u{200f}\u{2066}é");
    }

    #[test]
    fn room_is_what_the_system_says() {
        let (_folder, directory) = named();
        let Some(free) = directory.free().unwrap() else { return };
        assert!(directory.require(free / 2).is_ok());
        let error = directory.require(u64::MAX).unwrap_err();
        assert!(matches!(error, SpillError::Room { needed: u64::MAX, .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn files_have_no_name_and_are_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let (folder, directory) = named();
        let file = directory.file().unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
