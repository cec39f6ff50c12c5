use std::cell::Cell;

use super::*;

/// Gives its bytes one by one and notes when it is asked in vain.
struct Drip<'a> {
    bytes: &'a [u8],
    ended: &'a Cell<bool>,
}

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(&mut into[..1])?;
        self.ended.set(count == 0);
        Ok(count)
    }
}

#[test]
fn progress_is_told_while_a_stream_is_copied() {
    let (ended, asked, mut seen) = (Cell::new(false), Cell::new(0), Vec::new());
    let mut drip = Drip { bytes: b"k\na\n", ended: &ended };
    let every_other = || asked.replace(asked.get() + 1) % 2 == 1;
    let input = Input::copy("drip", &mut drip, &every_other, &mut |progress| {
        assert_eq!(progress.done, progress.total);
        seen.push(progress.done);
        ControlFlow::Continue(())
    });
    assert_eq!(input.unwrap().length(), 4);
    assert_eq!(seen, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]);
}

#[test]
fn a_copy_is_cancelled_anywhere_and_at_the_end() {
    for at in 0..6 {
        let (ended, mut calls) = (Cell::new(false), 0);
        let mut drip = Drip { bytes: b"k\na\n", ended: &ended };
        let result = Input::copy("drip", &mut drip, &|| true, &mut |_| {
            calls += 1;
            if calls > at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(result, Err(TableError::Cancelled)));
        assert_eq!(ended.get(), at == 5);
    }
}

#[cfg(unix)]
#[test]
fn a_silent_pipe_can_be_cancelled() {
    let Some((_directory, path)) = crate::testing::pipe() else { return };
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let mut seen = Vec::new();
    let writer = path.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut pipe = File::options().write(true).open(writer).unwrap();
            pipe.write_all(b"k\na\n").unwrap();
            // Open until the other side has given up.
            let _ = held.recv();
        });
        let result = Input::open_with(&path, &mut |progress| {
            seen.push(progress.done);
            if seen.ends_with(&[4, 4]) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(result, Err(TableError::Cancelled)));
        drop(hold);
    });
    assert!(seen.ends_with(&[4, 4]));
}

#[test]
fn a_file_is_opened_without_a_call() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"k\na\n").unwrap();
    assert!(Input::open_with(file.path(), &mut |_| ControlFlow::Break(())).is_ok());
}
