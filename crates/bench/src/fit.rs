//! Fits the cost model of [`vesica::cost`] to a record, and holds it against that record.
//!
//! Everything is least squares on relative errors, so that small and large sets weigh the same. Computing time is fitted to
//! cells on loopback with one thread: of all sets of terms whose best coefficients are positive, the one with the least
//! error, where each term has to earn its place. The share that threads divide comes from cells with more threads;
//! flights, overlap and the share of the other direction from cells with a network.

use std::fmt::Write;

use vesica::cost::{Conditions, FEW, Fitted, Form, Parties, TERM_NAMES, TERMS, Time, terms};
use vesica::protocols::registry::Security;
use vesica::protocols::{Profile, Sizes};

use crate::BenchError;
use crate::cell::{Cell, LOOPBACK, Networks};
use crate::record::Line;
use crate::scaling;

/// How much less, as a share, the error has to be for another term to be taken.
const TERM_EARNS: f64 = 0.1;

/// Sums of squares below this are as good as one another: 2 % a cell.
const GOOD_ENOUGH: f64 = 0.0004;

/// A cell of the record, with what the model takes of it.
#[derive(Debug, Clone)]
pub struct Point {
    /// The cell.
    pub cell: Cell,
    /// The least of its runs, in seconds: other programs only add to it.
    pub seconds: f64,
    /// Its form.
    pub form: Form,
    sizes: Sizes,
    traffic: Parties,
    conditions: Conditions,
    flights: u32,
}

impl Point {
    fn new(cell: Cell, seconds: f64, traffic: Parties, networks: &Networks) -> Result<Self, BenchError> {
        let (entry, shape) = cell.plan()?;
        let network = networks.find(&cell.network)?.network();
        Ok(Point {
            form: Form::of(entry, &shape),
            flights: (entry.flights)(&shape),
            sizes: shape.sizes,
            traffic,
            conditions: Conditions {
                threads: cell.threads,
                bits_per_s: network.bandwidth_bits_per_s.map(|bits| bits as f64),
                round_trip: network.round_trip,
                kept_base_ots: cell.kept_base_ots,
            },
            cell,
            seconds,
        })
    }

    /// The model's time for the cell.
    pub fn modelled(&self, fitted: &Fitted) -> Time {
        fitted.time(self.sizes, self.traffic, &self.conditions)
    }

    /// Modelled time over measured time, less one.
    pub fn deviation(&self, fitted: &Fitted) -> f64 {
        self.modelled(fitted).total_s / self.seconds - 1.0
    }

    fn larger(&self) -> usize {
        self.sizes.receiver.max(self.sizes.sender)
    }

    fn on_loopback(&self) -> bool {
        self.cell.network == LOOPBACK
    }
}

/// The cells of a record, each with the least of its runs; in the record's order.
pub fn points(lines: &[Line], networks: &Networks) -> Result<Vec<Point>, BenchError> {
    let mut cells: Vec<(&Line, f64)> = Vec::new();
    for line in lines {
        match cells.iter_mut().find(|(first, _)| first.cell == line.cell) {
            Some((_, least)) => *least = least.min(line.wall_s),
            None => cells.push((line, line.wall_s)),
        }
    }
    let point = |(line, least): (&Line, f64)| {
        let cell = serde_json::from_str(&line.cell)
            .map_err(|error| BenchError::Cell(format!("a cell of the record: {error}")))?;
        // As sent then, not as the formulas have it now: a record stays what it was.
        let traffic = Parties { receiver: line.sent_receiver, sender: line.sent_sender };
        Point::new(cell, least, traffic, networks)
    };
    cells.into_iter().map(point).collect()
}

/// The coefficients of every form that the points hold.
pub fn fit(points: &[Point]) -> Vec<Fitted> {
    let mut forms: Vec<Form> = Vec::new();
    for point in points {
        if !forms.contains(&point.form) {
            forms.push(point.form);
        }
    }
    forms.into_iter().filter_map(|form| fit_form(form, points)).collect()
}

fn fit_form(form: Form, points: &[Point]) -> Option<Fitted> {
    let points: Vec<&Point> = points.iter().filter(|point| point.form == form).collect();
    let alone: Vec<&Point> =
        points.iter().copied().filter(|point| point.on_loopback() && point.cell.threads == 1).collect();
    let rows: Vec<[f64; TERMS]> = alone
        .iter()
        .map(|point| {
            let bytes = point.traffic.receiver + point.traffic.sender;
            terms(point.sizes, bytes).map(|term| term / point.seconds)
        })
        .collect();
    let flights = points.first()?.flights;
    let mut fitted = Fitted {
        form,
        compute: non_negative(&rows)?,
        parallel: 0.0,
        flights: [f64::from(flights); 2],
        overlap: 0.0,
        one_way: 1.0,
        largest: points.iter().map(|point| point.larger()).max()?,
        deviation: 0.0,
    };
    let threaded = points.iter().copied().filter(|point| point.on_loopback() && point.cell.threads > 1);
    let threaded: Vec<&Point> = threaded.collect();
    // Where one thread a party keeps all cores busy, more of them cost time: a share below zero.
    let shares: Vec<f64> = (-20..=20).map(|step| f64::from(step) / 20.0).collect();
    best(&mut fitted, &threaded, &shares, |fitted, share| fitted.parallel = share);
    let networked: Vec<&Point> = points.iter().copied().filter(|point| !point.on_loopback()).collect();
    fit_network(&mut fitted, &networked);
    let deviations = points.iter().map(|point| point.deviation(&fitted).abs());
    fitted.deviation = deviations.fold(0.0, f64::max);
    Some(rounded(fitted))
}

/// 0, 1/n, … 1.
fn steps(n: u32) -> Vec<f64> {
    (0..=n).map(|step| f64::from(step) / f64::from(n)).collect()
}

fn squares(fitted: &Fitted, points: &[&Point]) -> f64 {
    points.iter().map(|point| point.deviation(fitted).powi(2)).sum()
}

/// Sets the value that makes the squares least; leaves everything where there is nothing to compare with.
fn best(fitted: &mut Fitted, points: &[&Point], values: &[f64], set: impl Fn(&mut Fitted, f64)) {
    let tried = values.iter().map(|&value| {
        let mut tried = *fitted;
        set(&mut tried, value);
        (squares(&tried, points), tried)
    });
    if let Some((_, least)) = tried.min_by(|(a, _), (b, _)| a.total_cmp(b))
        && !points.is_empty()
    {
        *fitted = least;
    }
}

/// Flights in halves, θ and q in twentieths. What no cell decides stays as it is.
fn fit_network(fitted: &mut Fitted, points: &[&Point]) {
    let flights: Vec<f64> = (0..=24).map(|halves| f64::from(halves) / 2.0).collect();
    let tried = steps(20).into_iter().map(|overlap| {
        let mut tried = *fitted;
        tried.overlap = overlap;
        // Each in turn until nothing moves; three rounds are more than it takes.
        for _ in 0..3 {
            for part in 0..2 {
                let of_part = |point: &&Point| usize::from(point.larger() >= FEW) == part;
                let points: Vec<&Point> = points.iter().copied().filter(of_part).collect();
                best(&mut tried, &points, &flights, |fitted, flights| fitted.flights[part] = flights);
            }
            best(&mut tried, points, &steps(20), |fitted, share| fitted.one_way = share);
        }
        (squares(&tried, points), tried)
    });
    if let Some((_, least)) = tried.min_by(|(a, _), (b, _)| a.total_cmp(b))
        && !points.is_empty()
    {
        *fitted = least;
    }
}

/// Coefficients as they are printed: four digits.
fn rounded(mut fitted: Fitted) -> Fitted {
    let round = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    fitted.compute = fitted.compute.map(round);
    fitted.deviation = (fitted.deviation * 1e3).round() / 1e3;
    fitted
}

/// The coefficients c ≥ 0 with rows · c nearest to 1, over the fewest terms that do; none without rows.
fn non_negative(rows: &[[f64; TERMS]]) -> Option<[f64; TERMS]> {
    let mut best: Option<(f64, u32, [f64; TERMS])> = None;
    for count in 1..=TERMS as u32 {
        for set in (1u32..1 << TERMS).filter(|set| set.count_ones() == count) {
            let Some(solved) = least_squares(rows, set) else { continue };
            if solved.iter().any(|&c| c < 0.0) {
                continue;
            }
            let error = |row: &[f64; TERMS]| row.iter().zip(&solved).map(|(a, c)| a * c).sum::<f64>() - 1.0;
            let squares = rows.iter().map(|row| error(row).powi(2)).sum::<f64>();
            let floor = GOOD_ENOUGH * rows.len() as f64;
            let earns = |&(before, terms, _): &(f64, u32, _)| {
                let least = squares < before;
                least && (terms == count || (before > floor && squares < (1.0 - TERM_EARNS) * before))
            };
            if best.as_ref().is_none_or(earns) {
                best = Some((squares, count, solved));
            }
        }
    }
    best.map(|(_, _, solved)| solved)
}

/// The least squares of rows · c = 1 over the terms of `set`, by the normal equations of scaled columns; none if they
/// are singular.
fn least_squares(rows: &[[f64; TERMS]], set: u32) -> Option<[f64; TERMS]> {
    let used: Vec<usize> = (0..TERMS).filter(|term| set >> term & 1 == 1).collect();
    if rows.len() < used.len() {
        return None;
    }
    let scale: Vec<f64> =
        used.iter().map(|&i| rows.iter().map(|row| row[i] * row[i]).sum::<f64>().sqrt()).collect();
    if scale.contains(&0.0) {
        return None;
    }
    let column = |k: usize, row: &[f64; TERMS]| row[used[k]] / scale[k];
    let n = used.len();
    // The matrix with the right side as its last column.
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for row in rows {
        for (i, sums) in matrix.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += column(i, row) * if j < n { column(j, row) } else { 1.0 };
            }
        }
    }
    let solved = solve(matrix)?;
    let mut all = [0.0; TERMS];
    for (k, &term) in used.iter().enumerate() {
        all[term] = solved[k] / scale[k];
    }
    Some(all)
}

/// Gauss's elimination with the largest pivot.
fn solve(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = matrix.len();
    for step in 0..n {
        let pivot = (step..n).max_by(|&a, &b| matrix[a][step].abs().total_cmp(&matrix[b][step].abs()))?;
        if matrix[pivot][step].abs() < 1e-12 {
            return None;
        }
        matrix.swap(step, pivot);
        let (above, below) = matrix.split_at_mut(step + 1);
        let head = &above[step];
        for row in below {
            let factor = row[step] / head[step];
            for (value, head) in row.iter_mut().zip(head).skip(step) {
                *value -= factor * head;
            }
        }
    }
    let mut solved = vec![0.0; n];
    for step in (0..n).rev() {
        let known: f64 = (step + 1..n).map(|j| matrix[step][j] * solved[j]).sum();
        solved[step] = (matrix[step][n] - known) / matrix[step][step];
    }
    Some(solved)
}

/// The coefficients as the source of `vesica::cost::fitted`.
pub fn render(fitted: &[Fitted], source: &str) -> String {
    let mut text = String::from("//! Made by `vesica bench fit`: not to be changed by hand.\n\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "use vesica_protocols::Profile::{{Conservative, Fast, Lean}};");
    let _ = writeln!(text, "use vesica_protocols::registry::Security::{{Malicious, SemiHonest}};\n");
    let _ = writeln!(text, "use super::{{Fitted, Form}};\n");
    let _ = writeln!(text, "/// The record that the coefficients were fitted to.\n#[rustfmt::skip]");
    let _ = writeln!(text, "pub const SOURCE: &str = {source:?};\n");
    let _ = writeln!(text, "/// The coefficients of every form in the record.\n#[rustfmt::skip]");
    let _ = writeln!(text, "pub static FITTED: &[Fitted] = &[");
    for Fitted { form, compute, parallel, flights, overlap, one_way, largest, deviation } in fitted {
        let Form { protocol, security, profile, variant, sigma, level, paper, kept_base_ots } = form;
        let security = match security {
            Security::SemiHonest => "SemiHonest",
            Security::Malicious => "Malicious",
        };
        let profile = match profile {
            Profile::Conservative => "Conservative",
            Profile::Fast => "Fast",
            Profile::Lean => "Lean",
        };
        let form = format!(
            "Form {{ protocol: {protocol:?}, security: {security}, profile: {profile}, variant: {variant:?}, \
             sigma: {sigma:?}, level: {level}, paper: {paper}, kept_base_ots: {kept_base_ots} }}"
        );
        let compute =
            compute.map(|c| if c == 0.0 { "0.0".to_owned() } else { format!("{c:.3e}") }).join(", ");
        let _ = writeln!(text, "    Fitted {{\n        form: {form},\n        compute: [{compute}],");
        let _ = writeln!(
            text,
            "        parallel: {parallel:?}, flights: {flights:?}, overlap: {overlap:?}, one_way: {one_way:?},"
        );
        let _ = writeln!(text, "        largest: {largest}, deviation: {deviation:?},\n    }},");
    }
    text + "];\n"
}

/// What was measured and modelled, cell by cell, the worst last; and the terms of each form.
pub fn describe(fitted: &[Fitted], points: &[Point]) -> String {
    let mut text = String::new();
    for fitted in fitted {
        let terms = fitted.compute.iter().zip(TERM_NAMES).filter(|&(&c, _)| c > 0.0);
        let terms: Vec<String> = terms.map(|(c, name)| format!("{c:.3e}·({name})")).collect();
        let _ = writeln!(text, "{}", scaling::name(&fitted.form));
        let _ = writeln!(text, "  seconds = {}", terms.join(" + "));
        let _ = writeln!(
            text,
            "  parallel {}, flights {:?}, overlap {}, other direction {}",
            fitted.parallel, fitted.flights, fitted.overlap, fitted.one_way
        );
        let mut cells: Vec<&Point> = points.iter().filter(|point| point.form == fitted.form).collect();
        cells.sort_by(|a, b| a.deviation(fitted).abs().total_cmp(&b.deviation(fitted).abs()));
        for point in cells {
            let Cell { receiver, sender, threads, network, .. } = &point.cell;
            let modelled = point.modelled(fitted).total_s;
            let off = 100.0 * point.deviation(fitted);
            let _ = writeln!(
                text,
                "  {receiver:>8} {sender:>8} {threads} {network:12} measured {:.4} s, modelled {modelled:.4} s, {off:+.1} %",
                point.seconds
            );
        }
    }
    text
}

#[cfg(test)]
mod tests;
