//! `vesica --version`, and with `--verbose` what a report of a fault should name: the build and the processor.

use std::env::consts::{ARCH, OS};
use std::fmt::Write;

use vesica::backend::{Backend, Kernels};

use crate::documents::print;

/// The features of this build.
const FEATURES: [(&str, bool); 2] =
    [("exhibits", cfg!(feature = "exhibits")), ("testing", cfg!(feature = "testing"))];

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
    text += "kernels and the instructions that each uses here (docs/processors.md):\n";
    for kernels in Kernels::ALL {
        let _ = writeln!(text, "  {:<28}{}", kernels.to_string(), backend.level_for(kernels));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
