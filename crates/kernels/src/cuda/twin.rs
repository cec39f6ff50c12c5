//! Builds `twin.c` with the C compiler of this machine and sends it requests. Tests of other crates include this file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// An operation of `twin.c`.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "a test needs some of them")]
pub(crate) enum Operation {
    MapMulEncode,
    DecodeMulEncode,
    BloomNarrow,
    BloomWide,
    Field,
}

/// What `twin.c` needs to know of a Bloom filter; zeros for the group.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shape {
    pub(crate) bins: u32,
    pub(crate) slots: u32,
    pub(crate) hashes: u32,
}

/// The program.
pub(crate) struct Twin(PathBuf);

impl Twin {
    /// Compiles it into a temporary folder, under a name of its own. Without a C compiler the test fails: a build of
    /// this workspace needs one anyway.
    pub(crate) fn build(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/src/cuda");
        let program = std::env::temp_dir().join(format!("vesica-{name}-{}", std::process::id()));
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"];
        let status = Command::new(&compiler).args(flags).arg(&program).arg(folder.join("twin.c")).status();
        assert!(status.is_ok_and(|status| status.success()), "{compiler:?} compiles twin.c");
        Self(program)
    }

    /// What it answers to a request.
    pub(crate) fn run(
        &self,
        operation: Operation,
        width: usize,
        shape: Shape,
        keys: &[u8],
        inputs: &[u8],
    ) -> Vec<u8> {
        let words = [
            operation as usize,
            inputs.len() / width,
            width,
            shape.bins as usize,
            shape.slots as usize,
            shape.hashes as usize,
            keys.len() / 4,
        ];
        let mut request: Vec<u8> = words.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect();
        request.extend_from_slice(keys);
        request.extend_from_slice(inputs);
        let mut twin = Command::new(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = twin.stdin.take().unwrap();
        let writer = thread::spawn(move || input.write_all(&request));
        let output = twin.wait_with_output().unwrap();
        assert!(writer.join().unwrap().is_ok() && output.status.success(), "twin.c: {}", output.status);
        output.stdout
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
