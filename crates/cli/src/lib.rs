//! The program `vesica`: the command line around [`vesica::job`].
//!
//! Standard output carries only data that was asked for. Messages for people go to standard error. `docs/exit-codes.md`
//! lists the exit codes.
//!
//! This is a library only so that tests can run the same program with a pause in it. Nothing else should depend on it.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod deadline;
mod documents;
mod events;
mod inspect;
mod kept;
mod keygen;
mod outbox;
mod plan;
mod quickstart;
mod relay;
mod run;
mod run_file;
mod screen;
mod signals;
mod system;
#[cfg(feature = "testing")]
pub mod testing;
mod verify;
mod version;

use std::process::ExitCode;

use args::{Cli, Command, USAGE};
use clap::Parser;
use clap::error::ErrorKind;
use screen::say;
use vesica::text::Voice;
use vesica::{Error, Kind, RunPhase};

/// The whole program: from its arguments to its exit code.
pub fn main() -> ExitCode {
    let arguments = match run_file::expand(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(error) => {
            say(&format!("vesica: {}", error.render(Voice::Shell)));
            return ExitCode::from(error.kind.exit_code());
        }
    };
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // If standard error is closed, nothing can be done.
            drop(error.print());
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked_for { ExitCode::SUCCESS } else { ExitCode::from(USAGE) };
        }
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // A damaged file is not an error of the program, and the message could show a value.
        if !vesica::table::decoding() {
            hook(info);
        }
    }));
    if let Err(error) = signals::settle() {
        let error = Error::resources(RunPhase::Prepare, "cannot handle signals", &error);
        say(&format!("vesica: {}", error.render(Voice::Shell)));
        return ExitCode::from(Kind::Resources.exit_code());
    }
    let code = std::panic::catch_unwind(|| run(cli)).unwrap_or_else(|_| {
        say("vesica: an internal error of this program (see above); please report it. Nothing more is written");
        Kind::Internal.exit_code()
    });
    ExitCode::from(code)
}

fn run(cli: Cli) -> u8 {
    let Some(command) = cli.command else { return version::run(cli.verbose) };
    let secret = matches!(
        command,
        Command::Keygen(_)
            | Command::Pubkey(_)
            | Command::Inspect(_)
            | Command::Receive(_)
            | Command::Send(_)
            | Command::Assist(_)
            | Command::Relay(_)
            | Command::Local(_)
            | Command::Publish(_)
            | Command::Serve(_)
            | Command::Lookup(_)
    );
    if secret {
        system::guard_memory();
    }
    match command {
        Command::Quickstart(args) => quickstart::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Pubkey(args) => keygen::show(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Compare(args) => inspect::compare(&args),
        Command::Receive(args) => run::receive(*args),
        Command::Send(args) => run::send(*args),
        Command::Assist(args) => run::assist(&args),
        Command::Relay(args) => relay::run(&args),
        Command::Local(args) => run::local(*args),
        Command::Publish(args) => kept::publish(&args),
        Command::Serve(args) => kept::serve(&args),
        Command::Lookup(args) => kept::lookup(*args),
        Command::Verify(args) => verify::run(&args),
        Command::Protocols(args) => documents::protocols(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => documents::completions(args.shell),
        Command::Man(args) => documents::man(&args.command),
    }
}
