//! Every form of every protocol between two processes: security models, levels, profiles, variants, the papers' own
//! parameters, native items. Each ends with the rows of a plain join.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use crate::common::{Scene, emails, plain_join};
use vesica::protocols::{Parameters, Security};
use vesica::registry::{Entry, PROTOCOLS};

const COMMON: usize = 23;

/// Digests, native items of a small domain, and of a large one.
const WIDTHS: [Option<u32>; 3] = [None, Some(12), Some(32)];

/// Of one size: for sets of different sizes the papers' parameters have no stash, and small ones then fail too often.
const ROWS: [usize; 2] = [80, 80];

/// Security models, profiles, levels and variants of `entry` with each other, over digests and native items, with its own and
/// the paper's parameters.
fn forms(entry: &Entry) -> Vec<Parameters> {
    let supports = &entry.supports;
    // What protects nothing runs as semi-honest.
    let models = if entry.security.is_empty() { &[Security::SemiHonest][..] } else { entry.security };
    let variants: Vec<_> = [None].into_iter().chain(supports.variants.iter().map(Some)).collect();
    let forms = vec![Parameters::default()];
    let forms = cross(forms, models, |security, form| Parameters { security, ..form });
    let forms = cross(forms, supports.profiles, |profile, form| Parameters { profile, ..form });
    let forms = cross(forms, supports.levels, |level, form| Parameters { level, ..form });
    let forms = cross(forms, &variants, |variant, form| Parameters { variant, ..form });
    let forms = cross(forms, &WIDTHS, |sigma, form| Parameters { sigma, ..form });
    // A limit below the size of the sets and above what they have in common.
    let limits: &[_] = if supports.audit { &[None, Some(2 * COMMON as u64)] } else { &[None] };
    let forms = cross(forms, limits, |audit_max, form| Parameters { audit_max, ..form });
    let mut forms = cross(forms, &[false, true], |paper, form| Parameters { paper, ..form });
    // Above 128 base OTs take half a second: one form each, by turns.
    let turn = |level: u32| variants[level as usize / 64 % variants.len()];
    forms.retain(|form| {
        let taken = form.level <= 128 || (form.variant == turn(form.level) && !slow(entry));
        let narrow = form.sigma == WIDTHS[1];
        taken && narrow != supports.digests && supports.unsupported(form).is_none()
    });
    forms
}

/// Whether levels above 128 take minutes, as large RSA keys do.
fn slow(entry: &Entry) -> bool {
    entry.test_items < 1 << 8
}

/// Every form with every choice.
fn cross<T: Copy>(
    forms: Vec<Parameters>,
    choices: &[T],
    with: impl Fn(T, Parameters) -> Parameters,
) -> Vec<Parameters> {
    forms
        .into_iter()
        .flat_map(|form| choices.iter().map(|&choice| with(choice, form)).collect::<Vec<_>>())
        .collect()
}

/// The words by which a party asks for them.
fn words(entry: &Entry, form: &Parameters) -> Vec<String> {
    let Parameters { security, level, sigma, variant, profile, paper, audit_max, .. } = form;
    let mut words = vec!["--protocol".into(), entry.name.into(), "--security".into(), security.name().into()];
    words.extend(["--level".into(), level.to_string(), "--profile".into(), profile.name().into()]);
    if let Some(variant) = variant {
        words.extend(["--variant".into(), variant.name.into()]);
    }
    if let Some(sigma) = sigma {
        words.extend(["--sigma".into(), sigma.to_string()]);
    }
    if *paper {
        words.push("--paper-parameters".into());
    }
    if let Some(most) = audit_max {
        words.extend(["--audit-max".into(), most.to_string()]);
    }
    if *paper || entry.needs_allow_insecure() {
        words.push("--allow-insecure".into());
    }
    words
}

/// A table of `rows` numbers below 2^`bits`, the first `common` of every side the same, in an order that differs by side.
fn numbers(side: u64, rows: usize, common: usize, bits: u32) -> String {
    let number = |i: usize| {
        let of = if i < common { 0 } else { side };
        (i as u64 * 2 + of) * 2_654_435_761 % (1 << bits)
    };
    let step = if side == 1 { 7 } else { 11 };
    let lines = (0..rows).map(|id| format!("{id},{}\n", number(id * step % rows)));
    format!("id,number\n{}", lines.collect::<String>())
}

fn tables(scene: &Scene) {
    for (side, (name, rows)) in (1..).zip(["receiver", "sender"].into_iter().zip(ROWS)) {
        scene.write(&format!("{name}.csv"), emails(name, rows, COMMON));
        for bits in WIDTHS.into_iter().flatten() {
            scene.write(&format!("{name}-{bits}.csv"), numbers(side, rows, COMMON, bits));
        }
    }
}

#[test]
fn every_form_ends_with_the_plain_join() {
    let all: Vec<_> =
        PROTOCOLS.iter().flat_map(|entry| forms(entry).into_iter().map(move |form| (entry, form))).collect();
    for entry in PROTOCOLS {
        let forms = || all.iter().filter(|(of, _)| of.name == entry.name).map(|(_, form)| form);
        let supports = &entry.supports;
        assert!(entry.security.iter().all(|&security| forms().any(|form| form.security == security)));
        assert!(supports.profiles.iter().all(|&profile| forms().any(|form| form.profile == profile)));
        let tried = |level| forms().any(|form| form.level == level);
        assert!(
            supports.levels.iter().all(|&level| tried(level) || (level > 128 && slow(entry))),
            "{}",
            entry.name
        );
        assert!(supports.variants.iter().all(|variant| forms().any(|form| form.variant == Some(variant))));
        assert_eq!(supports.sigma.is_some(), forms().any(|form| form.sigma.is_some()), "{}", entry.name);
        assert_eq!(supports.paper, forms().any(|form| form.paper), "{}", entry.name);
    }
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
}

fn runs(scene: &Scene, entry: &Entry, form: &Parameters) {
    let words = words(entry, form);
    let (table, key) = match form.sigma {
        Some(bits) => (format!("-{bits}.csv"), "number:int"),
        None => (".csv".to_owned(), "email:email"),
    };
    let inputs = ["receiver", "sender"].map(|name| format!("{name}{table}"));
    let party = |input, more: &[&'static str]| {
        let mut args = vec!["--input", input, "--key", key];
        args.extend(more);
        args
    };
    let (helper, address) = entry.has_helper().then(|| scene.helper(&[])).unzip();
    let mut asked: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(address) = &address {
        asked.extend(["--helper", address, "--helper-key", &scene.helper_key]);
    }
    let sender = [&party(&inputs[1], &[])[..], &asked].concat();
    let receiver = [&party(&inputs[0], &["--output", "out.csv"])[..], &asked].concat();
    let (received, sent) = scene.pair(&sender, &receiver);
    let told = if form.level == 80 { "WARNING: level 80 is only for comparison with the papers" } else { "" };
    received.expect(0, &[&format!("{COMMON} of {} rows match", ROWS[0]), told]);
    sent.expect(0, &[told]);
    if let Some(helper) = helper {
        helper.end().expect(0, &[&format!("both have {COMMON}")]);
    }
    let expected = plain_join(&scene.read(&inputs[0]), &scene.read(&inputs[1]));
    assert_eq!(scene.read("out.csv"), expected, "{asked:?}");
    std::fs::remove_file(scene.path("out.csv")).unwrap();
}
