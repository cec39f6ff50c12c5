use std::path::Path;

use vesica::cost::{FITTED, SOURCE};

use super::*;
use crate::cell::Networks;
use crate::record::Folder;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn networks() -> Networks {
    Networks::read(&root().join("benchmarks/networks.toml")).unwrap()
}

/// The points of the record that the committed coefficients name.
fn committed() -> Vec<Point> {
    let (folder, definitions) = SOURCE.split_once(": ").unwrap();
    let folder = Folder::open(&root().join(folder)).unwrap();
    let mut lines = Vec::new();
    for definition in definitions.split(", ") {
        let read = folder.read(definition).unwrap();
        assert!(!read.is_empty(), "{definition} has no record");
        lines.extend(read);
    }
    points(&lines, &networks()).unwrap()
}

#[test]
fn the_committed_coefficients_are_those_of_the_committed_record() {
    let text = std::fs::read_to_string(root().join("crates/vesica/src/cost/fitted.rs")).unwrap();
    let fitted = fit(&committed());
    assert_eq!(fitted.len(), FITTED.len());
    assert!(
        text == render(&fitted, SOURCE),
        "run `vesica bench fit` and commit crates/vesica/src/cost/fitted.rs"
    );
}

#[test]
fn the_model_is_within_a_quarter_of_the_record() {
    let points = committed();
    let model = |point: &Point| *FITTED.iter().find(|fitted| fitted.form == point.form).unwrap();
    let off: Vec<String> = points
        .iter()
        .filter(|point| point.deviation(&model(point)).abs() > 0.25)
        .map(|point| format!("{:?}: {:+.0} %", point.cell, 100.0 * point.deviation(&model(point))))
        .collect();
    assert!(off.is_empty(), "{} of {}: {off:#?}", off.len(), points.len());
}

/// Cells of a protocol that takes `seconds`, as a record would hold them.
fn made(fitted: &Fitted) -> Vec<Point> {
    let cell = |receiver, sender, threads, network: &str| Cell {
        threads,
        network: network.into(),
        ..Cell::new("dh", receiver, sender)
    };
    let equal = [8, 10, 12, 14, 16, 18].map(|log2: u32| cell(1 << log2, 1 << log2, 1, LOOPBACK));
    let others = [
        cell(1 << 10, 1 << 18, 1, LOOPBACK),
        cell(1 << 18, 1 << 10, 1, LOOPBACK),
        cell(1 << 16, 1 << 16, 2, LOOPBACK),
        cell(1 << 8, 1 << 8, 1, "wan-rr16"),
        cell(1 << 14, 1 << 14, 1, "wan-pssz15"),
        cell(1 << 16, 1 << 16, 1, "lan"),
        cell(1 << 17, 1 << 17, 1, "lan-100"),
    ];
    let networks = networks();
    let point = |cell: Cell| {
        let bytes = 7 * (cell.receiver + 10 * cell.sender) as u64;
        let traffic = Parties { receiver: bytes / 3, sender: bytes };
        let point = Point::new(cell, 1.0, traffic, &networks).unwrap();
        Point { seconds: point.modelled(fitted).total_s, ..point }
    };
    equal.into_iter().chain(others).map(point).collect()
}

#[test]
fn what_a_record_was_made_by_is_found_again() {
    let form = made(&FITTED[0])[0].form;
    let cases = [
        ([0.004, 3e-6, 1e-6, 0.0, 0.0, 0.0, 0.0], 0.5, 3.0, 0.0, 1.0),
        ([0.0, 0.0, 0.0, 7e-6, 0.0, 0.0, 0.0], 1.0, 2.0, 1.0, 0.5),
        ([0.1, 0.0, 1e-5, 0.0, 2e-7, 0.0, 0.0], 0.0, 4.5, 0.5, 0.0),
    ];
    for (compute, parallel, flights, overlap, one_way) in cases {
        let flights = [flights, flights + 1.0];
        let wanted =
            Fitted { form, compute, parallel, flights, overlap, one_way, largest: 1 << 18, deviation: 0.0 };
        let points = made(&wanted);
        let found = fit(&points)[0];
        assert_eq!((found.form, found.largest), (form, 1 << 18));
        for point in &points {
            let deviation = point.deviation(&found);
            assert!(deviation.abs() < 0.02, "{:?}: {deviation}; {found:?}", point.cell);
        }
        assert_eq!((found.parallel, found.flights), (parallel, flights));
    }
}

#[test]
fn coefficients_are_not_negative_and_few() {
    // Falling times would want a negative coefficient.
    let rows = |seconds: [f64; 3]| -> Vec<[f64; TERMS]> {
        let sizes = [100, 1000, 10_000].map(|n| Sizes { receiver: n, sender: n });
        sizes.iter().zip(seconds).map(|(&sizes, s)| terms(sizes, 0).map(|term| term / s)).collect()
    };
    let falling = non_negative(&rows([3.0, 2.0, 1.0])).unwrap();
    assert!(falling.iter().all(|&c| c >= 0.0) && falling[0] > 0.0);
    let linear = non_negative(&rows([1.0, 10.0, 100.0])).unwrap();
    assert_eq!(linear.iter().filter(|&&c| c > 0.0).count(), 1, "{linear:?}");
    assert_eq!(non_negative(&[]), None);
}
