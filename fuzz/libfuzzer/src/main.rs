//! The targets under libFuzzer. `VESICA_FUZZ_TARGET` names the one that this process runs.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use vesica_fuzz::{Target, targets};

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(init: {
    let name = std::env::var("VESICA_FUZZ_TARGET").unwrap_or_default();
    if name == "list" {
        targets().iter().for_each(|target| println!("{}", target.name));
        std::process::exit(0);
    }
    let Some(target) = targets().into_iter().find(|target| target.name == name) else {
        let names: Vec<_> = targets().into_iter().map(|target| target.name).collect();
        eprintln!("VESICA_FUZZ_TARGET is to be one of {}", names.join(", "));
        std::process::exit(64);
    };
    TARGET.get_or_init(|| target);
}, |input: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.run)(input);
    }
});
