//! The text of the kernels, compiled for a kind of card.

use std::ffi::CStr;

use cudarc::nvrtc::result;
use cudarc::nvrtc::sys;

use super::CardError;

/// The text, in the order in which `twin.c` includes it.
const TEXT: &CStr = match CStr::from_bytes_with_nul(
    concat!(
        include_str!("portable.h"),
        include_str!("words.h"),
        include_str!("field.h"),
        include_str!("root.h"),
        include_str!("edwards.h"),
        include_str!("ristretto.h"),
        include_str!("blake3.h"),
        include_str!("aes.h"),
        include_str!("bloom.h"),
        include_str!("kernels.cu"),
        "\0"
    )
    .as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the text has no zero byte"),
};

/// Compiles the kernels for cards of this compute capability, for [`Card::open_with`](super::Card::open_with). It needs
/// no card.
///
/// # Errors
/// If there is no compiler, or it does not know such cards.
pub fn compile((major, minor): (i32, i32)) -> Result<Vec<u8>, CardError> {
    find_compiler()?;
    let program = Program(result::create_program(TEXT, Some(c"kernels.cu")).map_err(refused)?);
    let options = [format!("--gpu-architecture=sm_{major}{minor}"), "--std=c++17".to_owned()];
    // SAFETY: the program has been created and is not destroyed before the end of this function.
    let compiled = unsafe { result::compile_program(program.0, &options) };
    if let Err(error) = compiled {
        return Err(CardError::Compiler(format!("{:?}\n{}", error.0, program.log())));
    }
    program.binary()
}

/// Whether there is a compiler.
///
/// # Errors
/// If there is none.
pub fn find_compiler() -> Result<(), CardError> {
    // SAFETY: loads a library of the system, which runs what its maker has it run when loaded.
    if unsafe { sys::is_culib_present() } { Ok(()) } else { Err(CardError::NoCompiler) }
}

fn refused(error: result::NvrtcError) -> CardError {
    CardError::Compiler(format!("{:?}", error.0))
}

/// A program of the compiler, destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    /// What the compiler says of it.
    fn log(&self) -> String {
        // SAFETY: the program has not been destroyed.
        let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        log.iter().map_while(|byte| (*byte != 0).then_some(char::from(*byte as u8))).collect()
    }

    /// The machine code.
    fn binary(&self) -> Result<Vec<u8>, CardError> {
        let mut size = 0;
        // SAFETY: the program has not been destroyed, and the size is written where it may be.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &raw mut size) }.result().map_err(refused)?;
        let mut binary = vec![0u8; size];
        // SAFETY: as above; the compiler writes as many bytes as it has said.
        unsafe { sys::nvrtcGetCUBIN(self.0, binary.as_mut_ptr().cast()) }.result().map_err(refused)?;
        Ok(binary)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created, and destroyed here only. Nothing is left to do if that fails.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the compiler is (`benchmarks/card/compile.py` brings it), it accepts the text that this crate carries.
    #[test]
    fn the_text_compiles_where_there_is_a_compiler() {
        match compile((9, 0)) {
            Ok(binary) => assert!(binary.starts_with(b"\x7fELF"), "machine code comes as an ELF file"),
            Err(error) => assert_eq!(error, CardError::NoCompiler),
        }
    }
}
