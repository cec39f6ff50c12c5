//! `vesica keygen`: a new identity on disk, its public key on standard output.

use std::io::{self, Write};
use std::path::PathBuf;

use vesica::Kind;
use vesica::net::Identity;

use crate::USAGE;
use crate::args::Keygen;
use crate::screen::say;

/// Makes the identity; never overwrites one.
pub(crate) fn run(args: &Keygen) -> u8 {
    let path = match args.output.clone().map_or_else(default_path, Ok) {
        Ok(path) => path,
        Err(message) => return refuse(&message),
    };
    if args.output.is_none()
        && let Some(folder) = path.parent()
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return refuse(&format!("{}: cannot be created: {error}", folder.display()));
    }
    let made = Identity::generate().and_then(|identity| identity.save(&path).map(|()| identity));
    match made {
        Ok(identity) => {
            if let Err(error) = writeln!(io::stdout(), "{}", identity.public_key()) {
                say(&format!(
                    "vesica keygen: the public key {} could not be written: {error}",
                    identity.public_key()
                ));
                return Kind::Output.exit_code();
            }
            say(&format!(
                "the identity is in {}; keep it secret, and give the partner the line above",
                path.display()
            ));
            0
        }
        Err(error) => {
            let known = Identity::load(&path)
                .map(|identity| format!("\n  its public key is {}", identity.public_key()));
            refuse(&format!("{error}{}", known.unwrap_or_default()))
        }
    }
}

fn refuse(message: &str) -> u8 {
    say(&format!("vesica keygen: {message}"));
    USAGE
}

/// Where an identity is if nothing else is said.
pub(crate) fn default_path() -> Result<PathBuf, String> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
    config.map(|config| config.join("vesica").join("identity.pem")).ok_or_else(|| {
        "neither XDG_CONFIG_HOME nor HOME is set; name the identity with --identity (or --output for keygen)".into()
    })
}
