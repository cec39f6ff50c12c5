//! `vesica --version`, and with `--verbose` what a report of a fault should name: the build, the processor, the card.

use std::env::consts::{ARCH, OS};
use std::fmt::Write;

use vesica::backend::{Backend, Kernels};
use vesica::device::{Device, NoCard};

use crate::documents::print;

/// The features of this build.
const FEATURES: [(&str, bool); 3] = [
    ("exhibits", cfg!(feature = "exhibits")),
    ("cuda", Device::CAN_HAVE_CARD),
    ("testing", cfg!(feature = "testing")),
];

/// Prints them; the exit code.
pub(crate) fn run(verbose: bool) -> u8 {
    let mut text = format!("vesica {}\n", env!("CARGO_PKG_VERSION"));
    if verbose {
        text += &details(Backend::detect());
    }
    print(text.as_bytes())
}

fn details(backend: Backend) -> String {
    let features: Vec<_> = FEATURES.iter().filter(|(_, built)| *built).map(|(name, _)| *name).collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    let checks = if cfg!(debug_assertions) { "on" } else { "off" };
    let mut text = String::new();
    for (name, value) in [
        ("wire format", vesica::net::VERSION.to_string()),
        ("features", features),
        ("debug assertions", checks.to_owned()),
        ("built for", format!("{ARCH}, {OS}")),
        ("instructions", backend.level().to_string()),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<18}{value}");
    }
    for line in Device::CAN_HAVE_CARD.then(|| cards(Device::names())).into_iter().flatten() {
        let _ = writeln!(text, "{:<18}{line}", "card");
    }
    text += "kernels and the instructions that each uses here (docs/processors.md):\n";
    for kernels in Kernels::ALL {
        let _ = writeln!(text, "  {:<28}{}", kernels.to_string(), backend.level_for(kernels));
    }
    text
}

/// What is told of the cards of this machine: a line for each, or why there is none.
fn cards(names: Result<Vec<String>, NoCard>) -> Vec<String> {
    match names {
        Ok(names) if names.is_empty() => vec!["none: the driver finds no card".to_owned()],
        Ok(names) => (0..).zip(names).map(|(number, name)| format!("cuda:{number} {name}")).collect(),
        Err(NoCard { reason, .. }) => vec![format!("none: {reason}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_card_has_a_line_or_the_reason_why_there_is_none() {
        let refused = NoCard { reason: "no driver".to_owned(), has_driver: false };
        assert_eq!(cards(Err(refused)), ["none: no driver"]);
        assert_eq!(cards(Ok(Vec::new())), ["none: the driver finds no card"]);
        let names = ["one", "another"].map(str::to_owned).to_vec();
        assert_eq!(cards(Ok(names)), ["cuda:0 one", "cuda:1 another"]);
        let lines = details(Backend::detect()).lines().filter(|line| line.starts_with("card ")).count();
        assert_eq!(lines > 0, Device::CAN_HAVE_CARD);
    }

    #[test]
    fn details_name_each_kernel_with_its_level() {
        for backend in Backend::available() {
            let text = details(backend);
            for kernels in Kernels::ALL {
                let line = text.lines().find(|line| line.starts_with(&format!("  {kernels}  ")));
                let level = backend.level_for(kernels).to_string();
                assert!(line.is_some_and(|line| line.ends_with(&level)), "{kernels}: {text}");
            }
            assert!(text.contains(&format!("instructions      {}\n", backend.level())), "{text}");
        }
    }
}
