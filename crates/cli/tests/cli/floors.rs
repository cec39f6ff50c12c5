//! The floors inside a crate: what stands on one imports from its own and from those below.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where something is not as it must be"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of a crate on their floors, the lowest first.
const FLOORS: &[(&str, &[&[&str]])] = &[
    ("vesica", &[&["words"], &["session"], &["scale"], &["job"], &["plan"]]),
    (
        "protocols",
        &[
            &["attached", "error", "parameters", "participants", "positions", "results"],
            &["cost", "entry", "masks", "outcome", "overlap", "protocol"],
            &["mask_lists", "oprf"],
            &["bloom_filter", "circuit_based", "ot_based", "public_key", "server_aided", "vole_based"],
            &["local", "registry"],
        ],
    ),
];

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

/// The first names of the paths `crate::…` in the product code of a source, of those in braces as well.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let product = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = code.flat_map(|line| line.split("crate::").skip(1)).flat_map(|rest| {
        let (list, most) = match rest.strip_prefix('{') {
            Some(list) => {
                let (list, _) = list.split_once('}').expect("a list stands on one line");
                assert!(!list.contains('{'), "a list within a list is not read: {list}");
                (list, usize::MAX)
            }
            None => (rest, 1),
        };
        list.split(',').take(most)
    });
    paths.map(|path| {
        let path = path.trim_start();
        let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        end.map_or(path, |end| &path[..end])
    })
}

#[test]
fn the_floors_hold() {
    for (name, floors) in FLOORS {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(name).join("src");
        let mut all = Vec::new();
        sources(&root, &mut all);
        let mut checked = 0;
        for path in all {
            let inside = path.strip_prefix(&root).unwrap();
            let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
            if ["lib", "testing"].contains(&module) {
                continue;
            }
            let floor = floors.iter().position(|floor| floor.contains(&module));
            let below = floors[..=floor.unwrap_or_else(|| panic!("`{module}` has no floor"))].concat();
            let text = fs::read_to_string(&path).unwrap();
            for import in imports(&text).filter(|import| *import != "testing") {
                assert!(below.contains(&import), "{}: `crate::{import}` is above it", path.display());
                checked += 1;
            }
        }
        assert!(checked > 100, "{name}: the imports are found");
    }
}

#[test]
fn imports_are_found() {
    let text = "use crate::words::error::Error;\n// crate::job\nfn f() { crate::plan::g(1, 2); }\n\
                use crate::{scale, session};\n\n#[cfg(test)]\nmod tests {\nuse crate::job::Job;\n}\n";
    assert_eq!(imports(text).collect::<Vec<_>>(), ["words", "plan", "scale", "session"]);
}
