//! `vesica verify`: from arguments to an exit code.

use vesica::verify::verify;

use crate::args::Verify;
use crate::documents::print;
use crate::screen;

pub(crate) fn run(args: &Verify) -> u8 {
    match verify(&args.file, &args.peer, args.report.as_deref()) {
        Ok(verified) if args.json => print(format!("{:#}\n", serde_json::json!(verified.receipt)).as_bytes()),
        Ok(verified) => print(verified.in_words().as_bytes()),
        Err(error) => {
            screen::failure_alone("verify", &error);
            error.kind.exit_code()
        }
    }
}
