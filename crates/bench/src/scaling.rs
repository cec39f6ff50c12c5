//! How time and memory grow with the sets: the exponents of power laws, fitted on logarithmic axes.

use std::fmt::Write;

use vesica::cost::Form;
use vesica::protocols::{Learns, registry};

use crate::BenchError;
use crate::cell::{Cell, LOOPBACK};
use crate::record::Line;

/// Sets from this size on: below it what does not depend on the size rules.
pub const FROM: usize = 1 << 16;

/// One quantity against n: the points of a plot, and the line through the larger ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// n and the median of the runs, by n.
    pub points: Vec<(usize, f64)>,
    /// The exponent a and the factor c of c·n^a from [`FROM`] on; none with less than two points there.
    pub law: Option<(f64, f64)>,
}

/// A form of a protocol: how it grows with equal sets, one thread, loopback.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// The form.
    pub form: Form,
    /// Its family in the registry.
    pub family: &'static str,
    /// Wall time in seconds.
    pub time: Curve,
    /// Peak memory of both parties together, in bytes.
    pub memory: Curve,
}

/// A run of equal sets: keys a side, wall time in seconds, peak memory of both parties in bytes.
type Run = (usize, f64, f64);

/// The growth of every form that was run on equal sets of several sizes.
pub fn growth<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Result<Vec<Growth>, BenchError> {
    let mut forms: Vec<(Form, &'static str, Vec<Run>)> = Vec::new();
    for line in lines {
        let cell: Cell = serde_json::from_str(&line.cell)
            .map_err(|error| BenchError::Cell(format!("a cell of the record: {error}")))?;
        let plain = cell.receiver == cell.sender && cell.threads == 1 && cell.network == LOOPBACK;
        if !plain || cell.learns == Learns::Both || cell.tls || cell.kept_base_ots || cell.receiver == 0 {
            continue;
        }
        let (entry, shape) = cell.plan()?;
        let form = Form::of(entry, &shape);
        let run = (cell.receiver, line.wall_s, (line.peak_receiver + line.peak_sender) as f64);
        match forms.iter_mut().find(|(known, ..)| *known == form) {
            Some((_, _, runs)) => runs.push(run),
            None => forms.push((form, entry.family, vec![run])),
        }
    }
    let grown = forms.into_iter().map(|(form, family, runs)| Growth {
        form,
        family,
        time: curve(runs.iter().map(|&(n, seconds, _)| (n, seconds)).collect()),
        memory: curve(runs.iter().map(|&(n, _, bytes)| (n, bytes)).collect()),
    });
    Ok(grown.filter(|growth| growth.time.points.len() > 1).collect())
}

/// The medians for each n, and the law of those from [`FROM`] on.
fn curve(mut runs: Vec<(usize, f64)>) -> Curve {
    runs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = runs.chunk_by(|a, b| a.0 == b.0);
    let points: Vec<(usize, f64)> = groups.map(|group| group[group.len() / 2]).collect();
    let large: Vec<(f64, f64)> = points
        .iter()
        .filter(|&&(n, value)| n >= FROM && value > 0.0)
        .map(|&(n, value)| ((n as f64).ln(), value.ln()))
        .collect();
    Curve { law: power_law(&large), points }
}

/// Least squares of ln y = ln c + a·ln n.
fn power_law(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let exponent = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    (points.len() > 1 && spread > 0.0).then(|| (exponent, (y - exponent * x).exp()))
}

/// The exponents as a table in Markdown, by family.
pub fn table(growth: &[Growth]) -> String {
    let log2 = FROM.ilog2();
    let mut text =
        "| family | protocol | sizes | time grows as | memory grows as |\n|---|---|---|---|---|\n".to_owned();
    let families: Vec<&str> = registry::PROTOCOLS.iter().map(|entry| entry.family).collect();
    let mut ordered: Vec<&Growth> = growth.iter().collect();
    ordered.sort_by_key(|growth| families.iter().position(|family| *family == growth.family));
    for Growth { form, family, time, memory } in ordered {
        let law =
            |curve: &Curve| curve.law.map_or("–".to_owned(), |(exponent, _)| format!("n^{exponent:.2}"));
        let most = time.points.last().map_or(0, |&(n, _)| n);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {family} | {} | 2^{log2} to {} | {} | {} |",
            name(form),
            size(most),
            law(time),
            law(memory)
        );
    }
    text
}

/// A form as a reader knows it: `vole, malicious`, `ot-phasing, σ = 32`.
pub fn name(form: &Form) -> String {
    let Form { protocol, security, profile, variant, sigma, level, paper, kept_base_ots } = form;
    let mut name = protocol.to_string();
    if *security == registry::Security::Malicious {
        name.push_str(", malicious");
    }
    if *profile != vesica::protocols::Profile::Conservative {
        let _ = write!(name, ", {}", profile.name());
    }
    if !variant.is_empty() {
        let _ = write!(name, ", {variant}");
    }
    if let Some(sigma) = sigma {
        let _ = write!(name, ", σ = {sigma}");
    }
    if *level != vesica::protocols::DEFAULT_LEVEL {
        let _ = write!(name, ", level {level}");
    }
    if *paper {
        name.push_str(", the paper's parameters");
    }
    if *kept_base_ots {
        name.push_str(", kept base OTs");
    }
    name
}

fn size(n: usize) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::key;
    use vesica::protocols::Profile;
    use vesica::protocols::registry::Security;

    fn line(cell: &Cell, wall_s: f64, peak: u64) -> Line {
        Line {
            row: String::new(),
            column: String::new(),
            run: 1,
            wall_s,
            sender_wall_s: 0.0,
            cpu_receiver_s: 0.0,
            cpu_sender_s: 0.0,
            peak_receiver: peak,
            peak_sender: 0,
            sent_receiver: 0,
            sent_sender: 0,
            phases: String::new(),
            sender_phases: String::new(),
            cell: key(cell),
        }
    }

    #[test]
    fn a_power_law_is_found_on_medians_of_large_sets() {
        let mut lines = Vec::new();
        for log2 in [8, 16, 18, 20] {
            let n = 1usize << log2;
            let cell = Cell::new("vole", n, n);
            let seconds = if log2 == 8 { 1.0 } else { 2e-6 * (n as f64).powf(1.5) };
            // An outlier on either side.
            for wall in [seconds, 9.0 * seconds, 0.1 * seconds] {
                lines.push(line(&cell, wall, 100 * n as u64));
            }
            lines.push(line(&Cell { threads: 2, ..cell.clone() }, 1.0, 1));
            lines.push(line(&Cell { sender: 5, ..cell }, 1.0, 1));
        }
        let grown = growth(&lines).unwrap();
        let (exponent, factor) = grown[0].time.law.unwrap();
        assert_eq!((grown.len(), grown[0].time.points.len()), (1, 4));
        assert!((exponent - 1.5).abs() < 1e-9 && (factor / 2e-6 - 1.0).abs() < 1e-6);
        assert!((grown[0].memory.law.unwrap().0 - 1.0).abs() < 1e-9);
        assert!(table(&grown).contains("| vole_based | vole | 2^16 to 2^20 | n^1.50 | n^1.00 |"));
    }

    #[test]
    fn forms_have_names() {
        let name = |cell: Cell| {
            let (entry, shape) = cell.plan().unwrap();
            name(&Form::of(entry, &shape))
        };
        assert_eq!(
            name(Cell { security: Security::Malicious, ..Cell::new("vole", 4, 4) }),
            "vole, malicious"
        );
        let native = Cell { sigma: Some(32), ..Cell::new("ot-phasing", 4, 4) };
        assert_eq!(name(native), "ot-phasing, σ = 32");
        let lean = Cell { profile: Profile::Lean, ..Cell::new("vole", 4, 4) };
        assert_eq!(name(lean), "vole, lean");
    }
}
