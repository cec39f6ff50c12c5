//! The targets under libFuzzer. `VESICA_FUZZ_TARGET` names the one that this process runs; `list` lists them all.
//! If `VESICA_FUZZ_SEEDS` is set too, the process writes the target's seeds into that folder instead.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_fuzz::{Target, decoding, targets};

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
    if let Ok(folder) = std::env::var("VESICA_FUZZ_SEEDS") {
        write_seeds(&target, Path::new(&folder));
        std::process::exit(0);
    }
    let end_process = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The caller of a foreign decoder catches its panics.
        if !decoding() {
            end_process(info);
        }
    }));
    TARGET.get_or_init(|| target);
}, |input: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.run)(input);
    }
});

// Half of the changes are libFuzzer's, which knows the values that the program compared. The others know the input's
// structure.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut rng = StdRng::seed_from_u64(seed.into());
    let Some(target) = TARGET.get().filter(|_| rng.random()) else {
        return fuzzer_mutate(data, size, max_size);
    };
    let mut input = data[..size].to_vec();
    (target.mutate)(&mut input, &mut rng);
    input.truncate(max_size.min(data.len()));
    data[..input.len()].copy_from_slice(&input);
    input.len()
});

fn write_seeds(target: &Target, folder: &Path) {
    for (number, seed) in target.seeds.iter().enumerate() {
        let file = folder.join(format!("seed-{number}"));
        if let Err(error) = std::fs::write(&file, seed) {
            eprintln!("{}: {error}", file.display());
            std::process::exit(74);
        }
    }
}
