//! ristretto255 and the positions of Bloom filters on a card of NVIDIA (feature `cuda`).
//!
//! | file in `cuda/` | content |
//! |---|---|
//! | `portable.h` | one text in two languages, CUDA C++ and C; masks |
//! | `words.h` | words with a carry between them: the only functions that differ between card and host |
//! | `field.h`, `root.h` | arithmetic modulo 2^255 - 19; square roots |
//! | `edwards.h` | points, and one secret scalar times a point |
//! | `ristretto.h` | the map from uniform bytes, decoding, encoding |
//! | `blake3.h`, `aes.h` | BLAKE3 of short inputs; AES-128 without tables |
//! | `bloom.h` | bins and slots of items, as `vesica_encode::bloom` defines them |
//! | `kernels.cu` | the kernels |
//! | `twin.c`, `twin.rs` | the kernels as a program of the host, and what runs it, for tests |
//! | `program.rs`, `batches.rs` | compiling for a card; pieces, memory, launches |
//!
//! The driver and NVRTC, the compiler of CUDA, are loaded at run time. A build needs neither, and a machine without
//! them gets a [`CardError`] that says so.
//!
//! The bytes are those of the other back ends. Scalars are secret: no branch and no address of the kernels depends on
//! one (`point_multiply` in `edwards.h`), nor on an item (`aes.h` has no table). What a call puts into the memory of
//! the card is overwritten before it is freed. That leaves out what a thread holds itself, in registers and on its
//! stack (multiples of points, and in registers the scalar), and the driver's own buffers for copies: CUDA gives no way
//! to wipe those.
//!
//! None of this has run on a card yet. `benchmarks/card/README.md` says what has been checked, and how.

mod batches;
mod program;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, sys};
use thiserror::Error;

pub use batches::{BloomBlocks, BloomFunctions, BloomShape, LONGEST_ITEM};
pub use program::{compile, find_compiler};

/// Why a card cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardError {
    /// The library of the driver is missing.
    #[error("this machine has no driver for cards of NVIDIA (the library `cuda` is not found)")]
    NoDriver,
    /// The driver knows no card of this number.
    #[error("this machine has no card {number}: the driver finds {count}, counted from 0")]
    NoCard {
        /// The number.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// The library of the compiler is missing.
    #[error(
        "CUDA's compiler is not found (the library `nvrtc`): install it, for example with `pip install \
         nvidia-cuda-nvrtc`, and name its folder in `LD_LIBRARY_PATH`"
    )]
    NoCompiler,
    /// The kernels do not compile.
    #[error("CUDA's compiler does not accept the kernels for this card: {0}")]
    Compiler(String),
    /// A call of the driver failed.
    #[error("the card or its driver failed: {0}")]
    Failed(String),
}

impl CardError {
    /// Whether it says that this machine has no driver, and so no card that anybody would expect to be used.
    #[must_use]
    pub fn is_without_driver(&self) -> bool {
        matches!(self, CardError::NoDriver)
    }
}

impl From<DriverError> for CardError {
    fn from(error: DriverError) -> Self {
        // The driver's own words, where it can be asked for them.
        Self::Failed(format!("{error:?}"))
    }
}

/// A card, with the kernels on it.
pub struct Card {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
    program: Vec<u8>,
    map_mul_encode: CudaFunction,
    decode_mul_encode: CudaFunction,
    bloom_round_keys: CudaFunction,
    bloom_positions_narrow: CudaFunction,
    bloom_positions_wide: CudaFunction,
}

impl Card {
    /// Compiles the kernels for card `number` of this machine, counted from 0. That takes seconds;
    /// [`program`](Self::program) spares the next process most of it.
    ///
    /// # Errors
    /// If there is no driver, no such card or no compiler, or one of them fails.
    pub fn open(number: usize) -> Result<Self, CardError> {
        let context = context(number)?;
        let program = compile(context.compute_capability()?)?;
        Self::load(context, program)
    }

    /// Card `number` with the compiled kernels of another [`Card`] of the same kind, or of [`compile`].
    ///
    /// The caller answers for where the program comes from: it sees every secret that the card is given.
    ///
    /// # Errors
    /// If there is no driver or no such card, or the program does not fit it.
    pub fn open_with(number: usize, program: Vec<u8>) -> Result<Self, CardError> {
        Self::load(context(number)?, program)
    }

    fn load(context: Arc<CudaContext>, program: Vec<u8>) -> Result<Self, CardError> {
        let module = context.load_module(cudarc::nvrtc::Ptx::from_binary(program.clone()))?;
        Ok(Self {
            stream: context.default_stream(),
            name: name_of(&context)?,
            program,
            map_mul_encode: module.load_function("map_mul_encode")?,
            decode_mul_encode: module.load_function("decode_mul_encode")?,
            bloom_round_keys: module.load_function("bloom_round_keys")?,
            bloom_positions_narrow: module.load_function("bloom_positions_narrow")?,
            bloom_positions_wide: module.load_function("bloom_positions_wide")?,
            context,
        })
    }

    /// How many cards the driver finds.
    ///
    /// # Errors
    /// If there is no driver, or it fails.
    pub fn count() -> Result<usize, CardError> {
        // SAFETY: loads a library of the system, which runs what its maker has it run when loaded.
        if !unsafe { sys::is_culib_present() } {
            return Err(CardError::NoDriver);
        }
        match CudaContext::device_count() {
            Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(0),
            count => Ok(usize::try_from(count?).unwrap_or(0)),
        }
    }

    /// The names of the cards that the driver finds, as [`name`](Self::name) has them. Nothing is compiled.
    ///
    /// # Errors
    /// If there is no driver, or it fails.
    pub fn names() -> Result<Vec<String>, CardError> {
        (0..Self::count()?).map(|number| context(number).and_then(|context| name_of(&context))).collect()
    }

    /// The name of the card, and its kind as the compiler calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The compiled kernels.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.program
    }
}

/// Threads may share a card; their calls run one after the other.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Card>();
};

/// The name of a card, and its kind.
fn name_of(context: &CudaContext) -> Result<String, CardError> {
    let (major, minor) = context.compute_capability()?;
    Ok(format!("{} (sm_{major}{minor})", context.name()?))
}

/// The context of card `number`.
fn context(number: usize) -> Result<Arc<CudaContext>, CardError> {
    let count = Card::count()?;
    if number >= count {
        return Err(CardError::NoCard { number, count });
    }
    Ok(CudaContext::new(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine with cards this asks for one too many; on one without a driver, it says that.
    #[test]
    fn a_card_that_is_not_there_is_refused_with_the_reason() {
        let error = Card::open(usize::MAX).err();
        match Card::count() {
            Ok(count) => assert_eq!(error, Some(CardError::NoCard { number: usize::MAX, count })),
            Err(reason) => assert_eq!(error, Some(reason)),
        }
    }
}
