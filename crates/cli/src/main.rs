//! The program `vesica`; all of it is in the library beside it.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    vesica::keep_freed_memory();
    vesica_cli::main()
}
