//! The line of progress: the step, what happens in it, how much is done, and how long the run still takes.

use std::time::{Duration, Instant};

use console::{measure_text_width, truncate_str};
use indicatif::HumanCount;
use vesica::memory::Bytes;
use vesica::text::amounts::clock;

/// The longest bar, in columns.
const BAR: usize = 30;
/// The shortest bar.
const LEAST: usize = 6;

/// What the line shows.
#[derive(Default)]
pub(super) struct Line {
    /// `step 3 of 7, `
    step: String,
    words: &'static str,
    name: &'static str,
    /// Since when this side waits for the partner, and how long it waits at most.
    waits: Option<(Instant, Duration)>,
    /// Units done and units in all, if the phase counts them.
    units: Option<(u64, u64)>,
    share: Option<f64>,
    /// When the estimate was made, and how long the run was expected to take from then on.
    left: Option<(Instant, Duration)>,
}

impl Line {
    /// A phase begins; the share of the run goes on from where it was.
    pub(super) fn next(
        &self,
        names: (&'static str, &'static str),
        (step, steps): (u32, Option<u32>),
        waits: Option<(Instant, Duration)>,
    ) -> Self {
        let (share, left) = if steps.is_some() { (self.share, self.left) } else { (None, None) };
        Line { share, left, ..Line::of_phase(names, (step, steps), waits) }
    }

    /// A phase, before there is progress.
    fn of_phase(
        (name, words): (&'static str, &'static str),
        (step, steps): (u32, Option<u32>),
        waits: Option<(Instant, Duration)>,
    ) -> Self {
        let step = match steps {
            _ if waits.is_some() => String::new(),
            Some(steps) => format!("step {step} of {steps}, "),
            None => format!("step {step}, "),
        };
        Line { step, words, name, waits, ..Line::default() }
    }

    /// Work was done.
    pub(super) fn progress(
        &mut self,
        (done, total): (u64, u64),
        share: Option<f64>,
        left: Option<(Instant, Duration)>,
    ) {
        self.units = (total > 0).then_some((done.min(total), total));
        // Before the run is agreed, the share is that of the table.
        self.share = share.or_else(|| self.units.map(|(done, total)| done as f64 / total as f64));
        self.left = left;
    }

    /// The line for so many columns.
    pub(super) fn text(&self, width: usize) -> String {
        let mut head = format!("{}{}", self.step, self.words);
        if let Some((since, most)) = self.waits {
            head += &format!(", {} of {}", clock(since.elapsed()), clock(most));
        }
        let Some(share) = self.share else { return truncate_str(&head, width, "…").into_owned() };
        let mut tail = format!("{:.0} %", (share * 100.0).floor());
        if let Some((said, left)) = self.left {
            tail += &format!(", {} left", clock(left.saturating_sub(said.elapsed())));
        }
        let room = |head: &str, tail: &str| {
            width.checked_sub(measure_text_width(head) + 2 + measure_text_width(tail))
        };
        // The phase's name in reports and errors, and the counts, if there is room for them and a bar.
        let named = format!("{head} ({})", self.name);
        if !matches!(self.name, "read" | "write") && room(&named, &tail).is_some() {
            head = named;
        }
        if let Some(counts) = self.counts()
            && room(&head, &format!("{tail}, {counts}")).is_some_and(|room| room >= BAR + 2)
        {
            tail = format!("{tail}, {counts}");
        }
        match room(&head, &tail) {
            None => truncate_str(&format!("{tail}  {head}"), width, "…").into_owned(),
            Some(room) if room < LEAST + 2 => format!("{head}  {tail}"),
            Some(room) => format!("{head}  {}  {tail}", bar(share, (room - 2).min(BAR))),
        }
    }

    fn counts(&self) -> Option<String> {
        let (done, total) = self.units?;
        Some(if matches!(self.name, "read" | "write") {
            format!("{} of {}", Bytes(done), Bytes(total))
        } else {
            format!("{} of {}", HumanCount(done), HumanCount(total))
        })
    }
}

fn bar(share: f64, columns: usize) -> String {
    let full = ((share.clamp(0.0, 1.0) * columns as f64) as usize).min(columns);
    "█".repeat(full) + &"░".repeat(columns - full)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(left: Option<u64>) -> Line {
        let mut line = Line::of_phase(("blind", "encrypting our keys"), (3, Some(7)), None);
        let left = left.map(|left| (Instant::now(), Duration::from_secs(left) + Duration::from_millis(900)));
        line.progress((173_056, 1_348_454), Some(0.4259), left);
        line
    }

    #[test]
    fn the_line_fits_every_terminal() {
        let mut long =
            Line::of_phase(("confirm", "confirming the run with the partner"), (10, Some(10)), None);
        long.progress((1, 2), Some(1.0), Some((Instant::now(), Duration::from_secs(86_399))));
        let waits = Some((Instant::now(), Duration::from_secs(300)));
        let waiting = Line::of_phase(("connect", "waiting for the partner"), (2, None), waits);
        for line in [line(Some(87)), line(None), long, waiting, Line::default()] {
            for width in 0..200 {
                let text = line.text(width);
                assert!(measure_text_width(&text) <= width.max(1), "{width}: {text:?}");
            }
        }
    }

    #[test]
    fn the_line_tells_step_share_and_time_left() {
        let short = "step 3 of 7, encrypting our keys (blind)  42 %, 1:27 left";
        assert_eq!(line(Some(87)).text(57), short);
        let wide = line(Some(87)).text(120);
        assert_eq!(
            wide,
            "step 3 of 7, encrypting our keys (blind)  ████████████░░░░░░░░░░░░░░░░░░  42 %, 1:27 left, 173,056 of \
             1,348,454"
        );
        assert_eq!(line(None).text(60), "step 3 of 7, encrypting our keys (blind)  █████░░░░░░░  42 %");
        assert_eq!(line(None).text(40), "step 3 of 7, encrypting our keys  42 %");
    }

    #[test]
    fn the_share_goes_on_in_the_next_phase() {
        let next = line(Some(87)).next(("answer", "answering the partner"), (4, Some(7)), None);
        assert_eq!(next.text(60), "step 4 of 7, answering the partner (answer)  42 %, 1:27 left");
        let first = line(None).next(("connect", "waiting for the partner"), (2, None), None);
        assert_eq!(first.text(60), "step 2, waiting for the partner");
    }

    #[test]
    fn waiting_shows_a_clock() {
        let Some(since) = Instant::now().checked_sub(Duration::from_secs(12)) else { return };
        let waits = Some((since, Duration::from_secs(300)));
        let line = Line::of_phase(("connect", "waiting for the partner"), (2, None), waits);
        assert_eq!(line.text(80), "waiting for the partner, 0:12 of 5:00");
    }
}
