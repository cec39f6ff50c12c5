//! `vesica verify`: from arguments to an exit code.

use vesica::verify::verify;

use crate::args::Verify;
use crate::documents::print;
use crate::screen;

pub(crate) fn run(args: &Verify) -> u8 {
    match verify(&args.file, &args.peer, args.report.as_deref()) {
        Ok(receipt) if args.json => print(format!("{:#}\n", serde_json::json!(receipt)).as_bytes()),
        Ok(receipt) => print(receipt.in_words(!args.peer.is_empty()).as_bytes()),
        Err(error) => {
            screen::failure("verify", &error);
            error.kind.exit_code()
        }
    }
}
