//! The floors inside a crate: what stands on one imports from its own and from those below.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of a crate's sources, the lowest first.
const FLOORS: &[(&str, &[&str])] = &[("vesica", &["words", "session", "scale", "job", "plan"])];

/// All sources under a folder that are part of the product.
pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true if name != "tests" => sources(&path, found),
            false if name.ends_with(".rs") && !["tests.rs", "testing.rs"].contains(&&*name) => {
                found.push(path)
            }
            _ => {}
        }
    }
}

/// The first names of the paths `crate::…` in the product code of a source.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let product = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1)).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        end.map_or(rest, |end| &rest[..end])
    })
}

#[test]
fn the_floors_hold() {
    for (name, floors) in FLOORS {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name).join("src");
        let mut checked = 0;
        for (floor, folder) in floors.iter().enumerate() {
            let mut found = vec![root.join(format!("{folder}.rs"))];
            sources(&root.join(folder), &mut found);
            for path in found {
                let text = fs::read_to_string(&path).unwrap();
                for import in imports(&text) {
                    let below = floors[..=floor].contains(&import);
                    assert!(below, "{} imports `crate::{import}`, which is above `{folder}`", path.display());
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{name}: the imports are found");
    }
}

#[test]
fn imports_are_found() {
    let text = "use crate::words::error::Error;\n// crate::job\nfn f() { crate::plan::g(); }\n\n#[cfg(test)]\nmod tests {\n\
                use crate::job::Job;\n}\n";
    assert_eq!(imports(text).collect::<Vec<_>>(), ["words", "plan"]);
}
