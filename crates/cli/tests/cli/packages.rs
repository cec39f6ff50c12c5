//! What the crates are published with: the words that a registry shows, and the files that a package must hold itself.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

fn root() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// The packages that are meant to be published.
fn published() -> Vec<Package> {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    metadata.packages.into_iter().filter(|package| package.publish.is_none()).collect()
}

#[test]
fn what_is_published_is_built_from_what_is_published() {
    let packages = published();
    let names: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    assert!(names.contains("vesica-cli") && !names.contains("vesica-fuzz"), "{names:?}");
    for package in &packages {
        // What a package tests itself with may be of this repository alone, without a version: then it is left out.
        let needs_version =
            package.dependencies.iter().filter(|one| one.path.is_some() && one.req.to_string() != "*");
        for dependency in needs_version {
            assert!(names.contains(dependency.name.as_str()), "{} needs {}", package.name, dependency.name);
        }
        let built = package.dependencies.iter().filter(|one| one.kind != DependencyKind::Development);
        for dependency in built {
            assert_ne!(
                dependency.req.to_string(),
                "*",
                "{}: the version of {}",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn every_package_says_what_it_is() {
    for package in published() {
        let name = package.name.as_str();
        assert!(package.description.as_ref().is_some_and(|words| words.len() > 15), "{name}: a description");
        assert!(package.repository.is_some() && package.license.is_some(), "{name}: where it comes from");
        assert!((1..=5).contains(&package.keywords.len()), "{name}: one to five keywords");
        assert!(!package.categories.is_empty(), "{name}: a category");
        assert!(package.metadata["docs"]["rs"].is_object(), "{name}: a table for docs.rs");
        let readme = package.readme().unwrap();
        let lines = fs::read_to_string(&readme).unwrap().lines().count();
        assert!((5..=30).contains(&lines), "{readme}: a short page");
    }
}

/// A package is built without the rest of the repository, so what it shares with a folder of the repository is a copy.
#[test]
fn copies_in_packages_are_equal_to_what_they_copy() {
    let mut copies = vec![
        (
            "crates/cli/src/quickstart/customers.csv".to_owned(),
            "examples/quickstart/customers.csv".to_owned(),
        ),
        (
            "crates/cli/src/quickstart/newsletter.csv".to_owned(),
            "examples/quickstart/newsletter.csv".to_owned(),
        ),
        ("crates/bench/src/networks.toml".to_owned(), "benchmarks/networks.toml".to_owned()),
    ];
    for entry in fs::read_dir(root().join("benchmarks/record")).unwrap() {
        let entry = entry.unwrap();
        let record = entry.file_name().into_string().unwrap();
        if !entry.path().is_dir() {
            continue;
        }
        copies.push((
            format!("crates/vesica/cells/{record}.csv"),
            format!("benchmarks/record/{record}/cells.csv"),
        ));
    }
    for (copy, original) in copies {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        assert_eq!(read(&copy), read(&original), "cp {original} {copy}");
    }
}

#[test]
fn no_source_file_is_built_from_a_file_outside_of_its_package() {
    let mut folders: Vec<PathBuf> = published()
        .iter()
        .map(|package| package.manifest_path.parent().unwrap().join("src").into())
        .collect();
    let mut included = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for file in text.split("include_str!(\"").skip(1) {
                    let file = file.split('"').next().unwrap();
                    included += 1;
                    assert!(!Path::new(file).starts_with("../.."), "{}: {file}", path.display());
                }
            }
        }
    }
    assert!(included > 0);
}
