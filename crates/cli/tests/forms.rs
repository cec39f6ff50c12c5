//! Every form of the protocols from oblivious transfer between two processes: levels, variants, the papers' own
//! parameters, native items; each ends with the rows of a plain join.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

mod common;

use common::{Scene, emails, plain_join};
use vesica::protocols::registry::{Entry, PROTOCOLS};
use vesica::protocols::{Parameters, Profile, Security};

const COMMON: usize = 23;

/// Of one size: for sets of different sizes the papers' parameters have no stash, and small ones then fail too often.
const ROWS: [usize; 2] = [80, 80];

/// Levels of `entry` with its variants, widths of items, and its own and the paper's parameters.
fn forms(entry: &Entry) -> Vec<Parameters> {
    let supports = &entry.supports;
    let variants = || std::iter::once(None).chain(supports.variants.iter().map(Some));
    let widths = [None, Some(32)];
    let mut forms = Vec::new();
    for &level in supports.levels {
        for variant in variants() {
            for sigma in widths {
                for paper in [false, true] {
                    forms.push(Parameters { level, variant, sigma, paper, ..Parameters::default() });
                }
            }
        }
    }
    // Above 128 base OTs take half a second: one form each, by turns.
    let turn = |level: u32| variants().cycle().nth(level as usize / 64).unwrap_or_default();
    forms.retain(|form| {
        supports.unsupported(form).is_none() && (form.level <= 128 || form.variant == turn(form.level))
    });
    forms
}

/// The words by which a party asks for them.
fn words(entry: &Entry, form: &Parameters) -> Vec<String> {
    let Parameters { security, level, sigma, variant, profile, paper } = form;
    assert_eq!((*security, *profile), (Security::SemiHonest, Profile::Conservative));
    let mut words = vec!["--protocol".into(), entry.name.into(), "--security".into(), security.name().into()];
    words.extend(["--level".into(), level.to_string()]);
    if let Some(variant) = variant {
        words.extend(["--variant".into(), variant.name.into()]);
    }
    if let Some(sigma) = sigma {
        words.extend(["--sigma".into(), sigma.to_string()]);
    }
    if *paper {
        words.extend(["--paper-parameters".into(), "--allow-insecure".into()]);
    }
    words
}

/// A table of `rows` numbers below 2^32, the first `common` of every side the same, in an order that differs by side.
fn numbers(side: u64, rows: usize, common: usize) -> String {
    let number = |i: usize| {
        let of = if i < common { 0 } else { side };
        (i as u64 * 2 + of) * 2_654_435_761 % (1 << 32)
    };
    let step = if side == 1 { 7 } else { 11 };
    let lines = (0..rows).map(|id| format!("{id},{}\n", number(id * step % rows)));
    format!("id,number\n{}", lines.collect::<String>())
}

fn tables(scene: &Scene) {
    for (side, (name, rows)) in (1..).zip(["receiver", "sender"].into_iter().zip(ROWS)) {
        scene.write(&format!("{name}.csv"), emails(name, rows, COMMON));
        scene.write(&format!("{name}-numbers.csv"), numbers(side, rows, COMMON));
    }
}

#[test]
fn every_form_ends_with_the_plain_join() {
    let of_family = |family: &'static str| PROTOCOLS.iter().filter(move |entry| entry.family == family);
    let all: Vec<_> = of_family("ot_based")
        .chain(of_family("bloom_filter"))
        .flat_map(|entry| forms(entry).into_iter().map(move |form| (entry, form)))
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    // Two pairs at a time: most of a run's time is waiting for the other side.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let scene = Scene::new();
                tables(&scene);
                while let Some((entry, form)) =
                    all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    runs(&scene, entry, form);
                }
            });
        }
    });
    let count = |name: &str| all.iter().filter(|(entry, _)| entry.name == name).count();
    let counts = ["gbf", "gbf-random", "kkrt", "ot-psi", "ot-phasing"].map(count);
    assert_eq!(counts, [10, 6, 1, 32, 16], "forms of each protocol");
}

fn runs(scene: &Scene, entry: &Entry, form: &Parameters) {
    let words = words(entry, form);
    let (table, key) = match form.sigma {
        Some(_) => ("-numbers.csv", "number:int"),
        None => (".csv", "email:email"),
    };
    let inputs = ["receiver", "sender"].map(|name| format!("{name}{table}"));
    let party = |input, more: &[&'static str]| {
        let mut args = vec!["--input", input, "--key", key];
        args.extend(more);
        args
    };
    let asked: Vec<&str> = words.iter().map(String::as_str).collect();
    let sender = [&party(&inputs[1], &[])[..], &asked].concat();
    let receiver = [&party(&inputs[0], &["--output", "out.csv"])[..], &asked].concat();
    let (received, sent) = scene.pair(&sender, &receiver);
    let told = if form.level == 80 { "WARNING: level 80 is for comparison with the papers" } else { "" };
    received.expect(0, &[&format!("{COMMON} of {} rows match", ROWS[0]), told]);
    sent.expect(0, &[told]);
    let expected = plain_join(&scene.read(&inputs[0]), &scene.read(&inputs[1]));
    assert_eq!(scene.read("out.csv"), expected, "{asked:?}");
    std::fs::remove_file(scene.path("out.csv")).unwrap();
}
