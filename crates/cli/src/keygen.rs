//! `vesica keygen`: a new identity on disk, its public key on standard output. `vesica pubkey`: that key again.

use std::io::{self, Write};

use vesica::{Kind, partner};

use crate::args::{Keygen, Pubkey};
use crate::documents::print;
use crate::screen::{self, say};
use crate::system;

/// Makes the identity; never overwrites one.
pub(crate) fn run(args: &Keygen) -> u8 {
    let (path, key) = match partner::make_identity(args.output.as_deref()) {
        Ok(made) => made,
        Err(error) => {
            screen::failure_alone("keygen", &error);
            return error.kind.exit_code();
        }
    };
    if let Err(error) = writeln!(io::stdout(), "{key}") {
        say(&format!("vesica keygen: the public key {key} could not be written: {error}"));
        return Kind::Output.exit_code();
    }
    let path = path.display();
    say(&format!("the identity is in {path}: keep it secret; give the partner the line above"));
    if let Some(caution) = system::IDENTITY_CAUTION {
        say(caution);
    }
    0
}

/// Prints the public key of an identity.
pub(crate) fn show(args: &Pubkey) -> u8 {
    match partner::identity(args.identity.as_deref()) {
        Ok(identity) => print(format!("{}\n", identity.public_key()).as_bytes()),
        Err(error) => {
            screen::failure_alone("pubkey", &error);
            error.kind.exit_code()
        }
    }
}
