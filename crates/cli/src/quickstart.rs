//! `vesica quickstart`: the main job on sample data, by the program itself, as two processes on this machine.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use vesica::Error;
use vesica::table::shown_path;

use crate::args::Quickstart;
use crate::screen::{self, say};

const CUSTOMERS: &str = include_str!("quickstart/customers.csv");
const NEWSLETTER: &str = include_str!("quickstart/newsletter.csv");

/// Plays both parties and shows what each one does.
pub(crate) fn run(args: &Quickstart) -> u8 {
    let played = match &args.keep {
        None => in_temporary_folder(),
        Some(folder) => match fs::create_dir(folder).and_then(|()| fs::canonicalize(folder)) {
            Ok(place) => play(&place).inspect(|code| {
                if *code == 0 {
                    say(&format!("All files of both sides are in {}.", shown_path(folder)));
                }
            }),
            Err(error) => {
                let message = format!("{}: cannot be made: {error}", shown_path(folder));
                let error =
                    Error::usage(message, "name a new folder with `--keep`, in one that you may write to");
                screen::failure("quickstart", &error);
                return error.kind.exit_code();
            }
        },
    };
    match played {
        Ok(code) => code,
        Err(error) => {
            say(&format!("vesica quickstart: {error}"));
            say("  what to do: set TMPDIR to a folder that this user may write to and run programs from");
            vesica::Kind::Output.exit_code()
        }
    }
}

fn in_temporary_folder() -> io::Result<u8> {
    let folder = tempfile::Builder::new().prefix("vesica-quickstart-").tempdir()?;
    play(folder.path())
}

/// Plays in a folder, and leaves there what the parties made.
fn play(folder: &Path) -> io::Result<u8> {
    let file = |name: &str| folder.join(name);
    fs::write(file("customers.csv"), CUSTOMERS)?;
    fs::write(file("newsletter.csv"), NEWSLETTER)?;
    say("Two organisations, two tables. A shop, and a newsletter:\n");
    show("customers.csv", CUSTOMERS);
    show("newsletter.csv", NEWSLETTER);

    say("\n1. Each makes an identity and gives the other the public key.\n");
    let shop_key = keygen(folder, "shop.pem")?;
    let newsletter_key = keygen(folder, "newsletter.pem")?;

    say(
        "\n2. The newsletter waits for the shop. It will only learn how many different\n   addresses the shop has.\n",
    );
    let sender = ["send", "--input", "newsletter.csv", "--key", "mail:email", "--listen", "127.0.0.1:0"];
    let mut sender = Running(start(folder, &sender, &["--identity", "newsletter.pem", "--peer", &shop_key])?);
    let (address, sender_screen) = match listening(&mut sender.0)? {
        Some(found) => found,
        None => return Ok(sender.0.wait()?.code().map_or(70, |code| code as u8)),
    };

    say("\n3. The shop asks which of its customers read the newsletter.\n");
    let receiver = ["receive", "--input", "customers.csv", "--key", "Email:email", "--output", "matched.csv"];
    let keys = ["--connect", &address, "--identity", "shop.pem", "--peer", &newsletter_key];
    let received = start(folder, &receiver, &keys)?.wait_with_output()?;
    relay("shop", &mut received.stderr.as_slice())?;
    relay("newsletter", &mut { sender_screen })?;
    let sent = sender.0.wait()?;
    if !received.status.success() || !sent.success() {
        return Ok(received.status.code().max(sent.code()).map_or(70, |code| code as u8));
    }

    say("\nThe shop's matched rows, as they are in its table (matched.csv):\n");
    let mut out = io::stdout().lock();
    out.write_all(&fs::read(file("matched.csv"))?)?;
    out.flush()?;
    say(
        "\nFor real tables: `vesica keygen`, then `vesica receive` on one side and `vesica send` on the other (see --help).",
    );
    Ok(0)
}

/// A process that is killed when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended by itself, or is no longer needed.
        drop(self.0.kill().and_then(|()| self.0.wait()));
    }
}

fn show(name: &str, table: &str) {
    say(&format!("   {name}"));
    for line in table.lines() {
        say(&format!("   | {line}"));
    }
}

fn program(folder: &Path) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

fn keygen(folder: &Path, name: &str) -> io::Result<String> {
    echo(["keygen", "--output", name]);
    let made = program(folder)?.args(["keygen", "--output", name]).output()?;
    let key = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    say(&format!("     {key}"));
    let said = String::from_utf8_lossy(&made.stderr);
    let failed = || io::Error::other(format!("`vesica keygen` ended with {}: {}", made.status, said.trim()));
    made.status.success().then_some(key).ok_or_else(failed)
}

fn start(folder: &Path, args: &[&str], keys: &[&str]) -> io::Result<Child> {
    echo(args.iter().chain(keys));
    program(folder)?
        .args(args)
        .args(keys)
        .args(["--timeout", "30s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

fn echo(args: impl IntoIterator<Item = impl AsRef<OsStr>>) {
    let words: Vec<_> = args.into_iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    say(&format!("   $ vesica {}", words.join(" ")));
}

/// Waits for the sender to say where it listens; none if it ended instead.
fn listening(sender: &mut Child) -> io::Result<Option<(String, BufReader<ChildStderr>)>> {
    let Some(screen) = sender.stderr.take() else { return Ok(None) };
    let mut screen = BufReader::new(screen);
    let mut line = String::new();
    while screen.read_line(&mut line)? > 0 {
        relay("newsletter", &mut line.as_bytes())?;
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(';').next());
        if let Some(address) = address {
            return Ok(Some((address.to_owned(), screen)));
        }
        line.clear();
    }
    Ok(None)
}

/// Shows what a process wrote on its screen.
fn relay(who: &str, screen: &mut dyn BufRead) -> io::Result<()> {
    for line in screen.lines() {
        say(&format!("     {who}: {}", line?));
    }
    Ok(())
}
