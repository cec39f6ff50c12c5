//! Bars: a whole in its pieces, and amounts on a logarithmic scale.

/// The width of a bar in its own units.
pub(crate) const WIDTH: f64 = 1000.0;

/// Colours of pieces; `templates/style.css` has them.
const COLOURS: usize = 10;

/// A piece of a bar.
#[derive(Debug, PartialEq)]
pub(crate) struct Piece {
    pub(crate) x: f64,
    pub(crate) width: f64,
    /// The number of its colour.
    pub(crate) colour: usize,
}

/// The pieces of a whole, one for each amount that is more than nothing.
pub(crate) fn pieces(amounts: &[f64]) -> Vec<Piece> {
    let whole: f64 = amounts.iter().sum();
    let mut pieces = Vec::new();
    let mut x = 0.0;
    for (number, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount > 0.0) {
        let width = WIDTH * amount / whole;
        pieces.push(Piece { x, width, colour: colour(number) });
        x += width;
    }
    pieces
}

/// The colour of the piece with this number.
pub(crate) fn colour(number: usize) -> usize {
    number % COLOURS
}

/// A logarithmic scale over whole powers of ten.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    /// One that holds all these amounts; a quarter of a power of ten is left at its beginning, so that the least has
    /// a bar.
    pub(crate) fn of(amounts: impl Iterator<Item = f64> + Clone) -> Self {
        let logs = amounts.filter(|amount| *amount > 0.0).map(f64::log10);
        let least = logs.clone().fold(f64::INFINITY, f64::min);
        let most = logs.fold(f64::NEG_INFINITY, f64::max);
        if least > most {
            return Scale { from: 0, to: 1 };
        }
        let from = (least - 0.25).floor() as i32;
        Scale { from, to: (most.ceil() as i32).max(from + 1) }
    }

    /// How long the bar of this amount is.
    pub(crate) fn length(&self, amount: f64) -> f64 {
        if amount <= 0.0 {
            return 0.0;
        }
        WIDTH * ((amount.log10() - f64::from(self.from)) / self.powers()).clamp(0.0, 1.0)
    }

    /// Where the powers of ten between its ends are.
    pub(crate) fn lines(&self) -> Vec<f64> {
        (self.from + 1..self.to).map(|power| WIDTH * f64::from(power - self.from) / self.powers()).collect()
    }

    /// The amounts at its two ends.
    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.from, self.to].map(|power| 10f64.powi(power))
    }

    fn powers(&self) -> f64 {
        f64::from(self.to - self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_fill_the_bar_in_their_order() {
        let found = pieces(&[1.0, 0.0, 3.0]);
        let expected = [(0.0, 250.0, 0), (250.0, 750.0, 2)];
        assert_eq!(found, expected.map(|(x, width, colour)| Piece { x, width, colour }));
        assert_eq!(pieces(&[]), []);
        assert_eq!(pieces(&[0.0]), []);
    }

    #[test]
    fn a_power_of_ten_has_the_same_length_everywhere() {
        let scale = Scale::of([0.02, 7.0, 300.0].into_iter());
        assert_eq!(scale.ends(), [0.01, 1000.0]);
        assert_eq!(scale.lines(), [200.0, 400.0, 600.0, 800.0]);
        assert!((scale.length(1.0) - 400.0).abs() < 1e-9 && scale.length(0.0) == 0.0);
        assert!((scale.length(20.0) - scale.length(2.0) - 200.0).abs() < 1e-9);
        // The least amount has a bar, and a scale of one amount is a scale.
        assert_eq!(Scale::of([1.0].into_iter()), Scale { from: -1, to: 0 });
        assert!(Scale::of([1.0].into_iter()).length(1.0) > 0.0);
        assert_eq!(Scale::of([].into_iter()), Scale { from: 0, to: 1 });
    }
}
