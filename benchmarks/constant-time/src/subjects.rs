//! What is measured: one entry for each operation, secret and level of instructions.
//!
//! An entry is made by [`row`], or by [`rows`] for each level that a family of kernels has code for. To add one, put it
//! into the list of its module.

mod comparisons;
mod controls;
mod fields;
mod gates;
mod groups;
mod integers;
mod symmetric;
mod transfers;

use vesica_channel::{Channel as _, Stream, memory};
use vesica_crypto::backend::{Backend, Kernels, Level};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::prg::Prg;

use crate::measure::{Class, Operation};

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The operation must take the same time whatever the secret is.
    Constant,
    /// The operation leaks on purpose: a run that does not see it sees nothing.
    Leaks,
    /// Both classes are the same: a run that sees a difference sees too much.
    Same,
}

/// One row.
pub(crate) struct Subject {
    pub(crate) purpose: Purpose,
    /// The module whose promise is measured, below `crates/`.
    pub(crate) module: &'static str,
    pub(crate) operation: &'static str,
    /// The instructions, if that is a choice.
    pub(crate) level: Option<Level>,
    /// What differs between the classes: the fixed value against random ones.
    pub(crate) secret: &'static str,
    /// None where the processor lacks the instructions.
    pub(crate) make: Option<Box<dyn FnOnce() -> Box<dyn Operation>>>,
}

/// Modules that promise constant time and have no row, with the reason.
pub(crate) const NOT_MEASURED: &[(&str, &str)] = &[
    (
        "crypto/src/group/elements.rs",
        "a trait: the rows of `group/ristretto.rs` are of its only implementation",
    ),
    (
        "crypto/src/group.rs",
        "a trait: the rows of `group/ristretto.rs`, `nist.rs` and `modp.rs` are of its implementations",
    ),
    (
        "crypto/src/bigint.rs",
        "the words for its modules, which have rows: `modulus.rs`, `fixed_base.rs`, `rsa.rs`",
    ),
    ("crypto/src/lib.rs", "the list of modules"),
    (
        "kernels/src/ristretto_lanes/ifma/field.rs",
        "arithmetic below the rows of `group/ristretto.rs` with AVX-512 + VAES",
    ),
    (
        "kernels/src/ristretto_lanes/field26.rs",
        "arithmetic below the rows of `group/ristretto.rs` with AVX2 and AVX-512",
    ),
    (
        "kernels/src/aes.rs",
        "the kernels below the rows of `aes_hash.rs`, `prg.rs`, `tree.rs` and `half_gates.rs`",
    ),
    ("kernels/src/aes/wasm.rs", "WebAssembly: the engine that compiles it promises nothing"),
    ("kernels/src/hadamard.rs", "the kernels below the rows of `hadamard.rs`"),
    ("kernels/src/gf128.rs", "the kernels below the rows of `gf128.rs`"),
];

/// All rows, controls first.
pub(crate) fn all() -> Vec<Subject> {
    let mut all = controls::list();
    all.extend(comparisons::list());
    all.extend(symmetric::list());
    all.extend(gates::list());
    all.extend(fields::list());
    all.extend(groups::list());
    all.extend(integers::list());
    all.extend(transfers::list());
    all
}

/// An operation that has no level to choose.
fn row(
    module: &'static str,
    operation: &'static str,
    secret: &'static str,
    make: impl FnOnce() -> Box<dyn Operation> + 'static,
) -> Subject {
    let purpose = Purpose::Constant;
    Subject { purpose, module, operation, level: None, secret, make: Some(Box::new(make)) }
}

/// An operation on plain Rust and on each level that these kernels have code of their own for, on this architecture.
fn rows(
    kernels: Kernels,
    module: &'static str,
    operation: &'static str,
    secret: &'static str,
    make: impl Fn(Backend) -> Box<dyn Operation> + Clone + 'static,
) -> Vec<Subject> {
    let here = |level: &Level| {
        let architecture = match level {
            Level::Neon => "aarch64",
            Level::Simd128 => "wasm32",
            _ => "x86_64",
        };
        architecture == std::env::consts::ARCH
    };
    let own = kernels.levels().iter().copied().filter(here);
    let levels = [Level::Portable].into_iter().chain(own);
    levels
        .map(|level| Subject {
            level: Some(level),
            make: Backend::at(level).map(|backend| {
                let make = make.clone();
                Box::new(move || make(backend)) as Box<dyn FnOnce() -> Box<dyn Operation>>
            }),
            ..row(module, operation, secret, || unreachable!("replaced above"))
        })
        .collect()
}

/// Random blocks, or the fixed ones: zeros. Both classes draw as much.
fn blocks(class: Class, count: usize, rng: &mut Prg) -> Vec<Block> {
    let mut blocks = vec![Block::ZERO; count];
    rng.fill_blocks(&mut blocks);
    let kept = Block::mask(class == Class::Random);
    blocks.iter_mut().for_each(|block| *block &= kept);
    blocks
}

/// One block, as [`blocks`].
fn block(class: Class, rng: &mut Prg) -> Block {
    blocks(class, 1, rng)[0]
}

/// Random bytes, or zeros, as [`blocks`].
fn bytes<const N: usize>(class: Class, rng: &mut Prg) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill(&mut bytes);
    let kept = if class == Class::Random { 0xff } else { 0 };
    bytes.map(|byte| byte & kept)
}

/// The same blocks every time.
fn known(count: usize) -> Vec<Block> {
    let mut blocks = vec![Block::ZERO; count];
    Prg::from_seed([1; 16]).fill_blocks(&mut blocks);
    blocks
}

/// A generator whose seed is random, or the same every time.
fn generator(class: Class, rng: &mut Prg) -> Prg {
    Prg::from_seed(block(class, rng))
}

/// A party's end of a channel from which it receives `message`, and the partner's end.
fn fed(message: &[u8]) -> (Stream, Stream) {
    let (here, mut there) = memory::pair();
    assert!(there.send(message).is_ok() && there.flush().is_ok(), "there is room for a short message");
    (here, there)
}

fn context() -> Context {
    Context::new(&[1; 32], "constant time", b"", 0, 0)
}

const LABEL: Label = Label::new("constant time");

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};
    use std::path::{Path, PathBuf};

    use super::*;

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    /// Modules below `crates/*/src` whose documentation speaks of constant time and does not say that it is missing.
    fn promises() -> BTreeSet<String> {
        let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates"));
        let mut files = Vec::new();
        sources(crates, &mut files);
        let promises = |text: &str| {
            let documentation = text.lines().filter_map(|line| {
                line.trim_start().strip_prefix("//!").or(line.trim_start().strip_prefix("///"))
            });
            let words: Vec<&str> = documentation.flat_map(str::split_whitespace).collect();
            let text = words.join(" ").to_lowercase().replace("constant-time", "constant time");
            let denied = ["not constant time", "not in constant time"].map(|no| text.matches(no).count());
            text.matches("constant time").count() > denied.iter().sum()
        };
        let files = files.iter().filter(|path| path.to_str().unwrap().contains("/src/"));
        let promising = files.filter(|path| promises(&std::fs::read_to_string(path).unwrap()));
        promising
            .map(|path| path.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/"))
            .collect()
    }

    /// A module that promises constant time has a row, or a reason why it has none; and no reason outlives its module.
    #[test]
    fn every_promise_has_a_row_or_a_reason() {
        let measured: BTreeSet<String> = all().iter().map(|subject| subject.module.to_owned()).collect();
        let excused: BTreeSet<String> = NOT_MEASURED.iter().map(|(module, _)| (*module).to_owned()).collect();
        let promises = promises();
        assert!(promises.contains("ot/src/vole.rs") && promises.contains("crypto/src/gf128.rs"));
        let missing: Vec<_> =
            promises.iter().filter(|m| !measured.contains(*m) && !excused.contains(*m)).collect();
        assert!(missing.is_empty(), "neither measured nor excused: {missing:#?}");
        let stale: Vec<_> =
            excused.iter().filter(|m| !promises.contains(*m) || measured.contains(*m)).collect();
        assert!(stale.is_empty(), "excused for nothing: {stale:#?}");
        let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates"));
        let gone: Vec<_> = measured.iter().filter(|module| !crates.join(module).exists()).collect();
        assert!(gone.is_empty(), "no such module: {gone:#?}");
    }

    #[test]
    fn no_row_is_listed_twice() {
        let mut seen = HashSet::new();
        for subject in all() {
            let key = (
                subject.module,
                subject.operation,
                subject.level.map(|level| level as usize),
                subject.secret,
            );
            assert!(seen.insert(key), "{key:?}");
        }
    }

    /// Every operation runs, with inputs of both classes.
    #[test]
    fn every_row_can_be_measured() {
        let rng = &mut Prg::from_seed([5; 16]);
        for subject in all() {
            let Some(make) = subject.make else { continue };
            let mut classes = [Class::Fixed; 32];
            classes[1..].iter_mut().step_by(2).for_each(|class| *class = Class::Random);
            let times = make().times(&classes, rng);
            assert!(times.iter().all(|time| *time > 0), "{}: {}", subject.module, subject.operation);
        }
    }
}
