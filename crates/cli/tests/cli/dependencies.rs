//! What the program is built from: licences and sources against the lists in `deny.toml`, and native crates; and which
//! crate may depend on which. `make deny` checks more of it, with a tool that `make test` does without.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn metadata() -> Metadata {
    let locked = ["--locked".to_owned()];
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).other_options(locked).exec().unwrap()
}

/// A list of names in `deny.toml`.
fn list(section: &str, key: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let lists: toml::Table = text.parse().unwrap();
    let values = lists[section][key].as_array().unwrap();
    values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

/// Whether an SPDX expression can be met with licences of the list: no parentheses deeper than one, AND over OR.
fn allowed(expression: &str, list: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let (mut every, mut any) = (true, false);
    let mut name = String::new();
    for word in expression.split_whitespace().chain(["AND"]) {
        match word {
            "OR" | "AND" => {
                any |= list.contains(&name);
                name.clear();
                if word == "AND" {
                    every &= any;
                    any = false;
                }
            }
            word if name.is_empty() => name = word.to_owned(),
            word => name = format!("{name} {word}"),
        }
    }
    every
}

#[test]
fn expressions_are_read() {
    let list = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(String::from).into();
    for (expression, meets) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("Unlicense/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("ISC AND (GPL-3.0 OR MIT)", true),
        ("ISC AND (GPL-3.0 OR BSD-4-Clause)", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("", false),
    ] {
        assert_eq!(allowed(expression, &list), meets, "{expression}");
    }
}

#[test]
fn every_licence_is_on_the_list() {
    let list = list("licenses", "allow");
    let metadata = metadata();
    let bad: Vec<_> = metadata
        .packages
        .iter()
        .filter(|package| !allowed(package.license.as_deref().unwrap_or_default(), &list))
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.license))
        .collect();
    assert!(bad.is_empty(), "not on the list of deny.toml: {bad:#?}");
}

#[test]
fn every_source_is_the_registry_or_this_repository() {
    let registries = list("sources", "allow-registry");
    for package in &metadata().packages {
        match &package.source {
            None => assert!(package.manifest_path.starts_with(metadata().workspace_root), "{}", package.name),
            Some(source) => {
                let known = source.repr.strip_prefix("registry+").is_some_and(|url| registries.contains(url));
                assert!(known, "{} comes from {}", package.name, source.repr);
            }
        }
    }
}

/// Names of the packages that are really built for this platform. (`cargo metadata` also lists optional ones that no
/// feature turns on.)
fn built() -> BTreeSet<String> {
    let args =
        ["tree", "--locked", "--workspace", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let tree = Command::new(env!("CARGO")).args(args).current_dir(root()).output().unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let names = String::from_utf8(tree.stdout).unwrap();
    names.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The crates that may declare `links`: the TLS provider and its wrapper, zstd, and pyo3, which builds nothing native but
/// says where Python's symbols come from. (cargo-deny has no such list.)
const NATIVE: [&str; 5] = ["aws-lc-rs", "aws-lc-sys", "pyo3", "pyo3-ffi", "zstd-sys"];

#[test]
fn native_code_is_linked_by_the_listed_crates_alone() {
    let (metadata, built) = (metadata(), built());
    let linked = metadata.packages.iter().filter(|package| package.links.is_some());
    let linked: BTreeSet<_> =
        linked.map(|p| p.name.to_string()).filter(|name| built.contains(name)).collect();
    assert_eq!(linked, NATIVE.map(str::to_owned).into(), "crates that link native code");
}

/// The crates of this repository that each may depend on, tests and examples aside, as ARCHITECTURE.md has them.
const LAYERS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("channel", &["text"]),
    ("kernels", &[]),
    ("crypto", &["kernels"]),
    ("encode", &["crypto"]),
    ("ot", &["channel", "crypto"]),
    ("circuit", &["channel", "crypto", "ot"]),
    ("protocols", &["text", "channel", "crypto", "encode", "ot", "circuit"]),
    ("exhibits", &["channel", "crypto", "encode", "ot", "protocols"]),
    ("net", &["text", "channel"]),
    ("spill", &[]),
    ("page", &["text"]),
    ("kept", &[]),
    ("store", &[]),
    ("table", &["text", "crypto", "encode", "store"]),
    (
        "vesica",
        &[
            "text",
            "channel",
            "crypto",
            "encode",
            "ot",
            "circuit",
            "protocols",
            "exhibits",
            "net",
            "page",
            "spill",
            "kept",
            "store",
            "table",
        ],
    ),
    ("web", &["channel", "kernels", "crypto", "protocols"]),
    ("bench", &["channel", "crypto", "encode", "ot", "circuit", "protocols", "net", "table", "vesica"]),
    (
        "cli",
        &["channel", "crypto", "encode", "ot", "circuit", "protocols", "net", "table", "vesica", "bench"],
    ),
    (
        "attacks",
        &["channel", "crypto", "encode", "ot", "circuit", "protocols", "exhibits", "net", "table", "vesica"],
    ),
    ("python", &["vesica"]),
    ("blocks", &["channel", "crypto", "encode", "ot", "circuit", "table"]),
    ("constant-time", &["channel", "crypto", "ot", "circuit"]),
    (
        "fuzz",
        &["channel", "crypto", "encode", "ot", "circuit", "protocols", "net", "spill", "table", "vesica"],
    ),
];

#[test]
fn the_layers_hold() {
    for package in metadata().workspace_packages() {
        let name = package.name.trim_start_matches("vesica-");
        let layer = LAYERS.iter().find(|(layer, _)| *layer == name);
        let (_, below) = layer.unwrap_or_else(|| panic!("{name} stands in no layer"));
        let built = package.dependencies.iter().filter(|one| one.kind != DependencyKind::Development);
        for dependency in built.filter(|dependency| dependency.path.is_some()) {
            let other = dependency.name.trim_start_matches("vesica-");
            assert!(name == other || below.contains(&other), "{name} may not depend on {other}");
        }
    }
}

#[test]
fn unsafe_code_is_in_the_kernels_alone() {
    for package in metadata().workspace_packages() {
        for target in package.targets.iter().filter(|target| target.is_lib()) {
            let forbids =
                std::fs::read_to_string(&target.src_path).unwrap().contains("#![forbid(unsafe_code)]");
            assert_eq!(forbids, package.name.as_str() != "vesica-kernels", "{}", target.src_path);
        }
    }
}

/// Releases build these packages with their default features.
#[test]
fn no_release_has_what_is_insecure_or_broken() {
    let metadata = metadata();
    for name in ["vesica", "vesica-bench", "vesica-cli", "vesica-python"] {
        let packages = metadata.workspace_packages();
        let package = packages.iter().find(|package| package.name.as_str() == name).unwrap();
        let default = package.features.get("default").map_or(&[][..], Vec::as_slice);
        assert!(default.iter().all(|feature| !feature.contains("exhibits")), "{name}");
        for other in package.dependencies.iter().filter(|other| other.kind == DependencyKind::Normal) {
            let taken = other.name == "vesica-exhibits" && !other.optional;
            assert!(!taken && other.features.iter().all(|feature| feature != "exhibits"), "{name}");
        }
    }
    for script in ["Makefile", "packaging/Dockerfile", "python/wheel.sh"] {
        let text = std::fs::read_to_string(root().join(script)).unwrap();
        assert!(!text.contains("exhibits"), "{script}");
    }
}

/// Names of all packages that a package of this repository is built from, tests aside.
fn reached(metadata: &Metadata, name: &str) -> BTreeSet<String> {
    let nodes = &metadata.resolve.as_ref().unwrap().nodes;
    let start = metadata.workspace_packages().into_iter().find(|package| package.name.as_str() == name);
    let (mut found, mut left) = (BTreeSet::new(), vec![&start.unwrap().id]);
    while let Some(id) = left.pop() {
        if found.insert(metadata[id].name.to_string()) {
            let node = nodes.iter().find(|node| node.id == *id).unwrap();
            let normal = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            });
            left.extend(normal.map(|dependency| &dependency.pkg));
        }
    }
    found
}

#[test]
fn protocols_are_built_without_sockets_and_tls() {
    let metadata = metadata();
    let sockets = ["rustls", "aws-lc-rs", "aws-lc-sys", "socket2", "mio", "ring", "vesica-net"];
    for name in ["channel", "kernels", "crypto", "encode", "ot", "circuit", "protocols", "exhibits", "web"] {
        let reached = reached(&metadata, &format!("vesica-{name}"));
        let found: Vec<_> = sockets.iter().filter(|socket| reached.contains(**socket)).collect();
        assert!(found.is_empty(), "{name} is built from {found:?}");
    }
    // Of rustix, memory advice on Linux and nothing else.
    let rustix = |package: &&Package| {
        ["vesica-kernels", "vesica-channel", "vesica-ot"].contains(&package.name.as_str())
    };
    for package in metadata.workspace_packages().iter().copied().filter(rustix) {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.name == "rustix") {
            assert_eq!(dependency.features, ["mm"], "{}", package.name);
        }
    }
    // The search finds what there is.
    assert!(reached(&metadata, "vesica-net").contains("aws-lc-sys"));
}
