//! Two sets as two circles, whose areas are as the sizes, and whose lens is as large as what both have.
//!
//! With radii r and s and the distance d of the centres, r − s < d < r + s, the lens has the area
//! r²·acos((d² + r² − s²)/2dr) + s²·acos((d² + s² − r²)/2ds) − ½·√((−d+r+s)(d+r−s)(d−r+s)(d+r+s)).
//! It shrinks while d grows, so d is found by bisection.

use std::f64::consts::PI;

/// The size of the picture, which `templates/report.html` has too.
const WIDTH: f64 = 400.0;

/// The radius of the larger circle.
const LARGEST: f64 = 94.0;
/// The least radius of a circle that is there at all.
const SMALLEST: f64 = 3.0;
/// Between circles that have nothing in common.
const GAP: f64 = 6.0;
/// A lens that is thinner can hardly be seen.
const THIN: f64 = 1.0;

/// What this side knows of the number of keys that both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Common {
    /// It is this number.
    Exactly(u64),
    /// It is about this number: noise was added.
    About(i64),
    /// It is this number or more.
    AtLeast(u64),
    /// It is less.
    FewerThan(u64),
    /// Nothing.
    Unknown,
}

impl Common {
    /// The number that is drawn.
    fn drawn(self, most: u64) -> Option<u64> {
        match self {
            Common::Exactly(count) | Common::AtLeast(count) | Common::FewerThan(count) => {
                Some(count.min(most))
            }
            Common::About(count) => Some(u64::try_from(count).unwrap_or(0).min(most)),
            Common::Unknown => None,
        }
    }
}

/// A circle. Its centre is half way up the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Circle {
    pub(crate) x: f64,
    pub(crate) r: f64,
}

/// The picture: where the circles lie, and in which ways it is not true to scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lens {
    pub(crate) left: Circle,
    pub(crate) right: Circle,
    /// Whether the lens is as large as what both have, and nothing else could be meant.
    pub(crate) is_exact: bool,
    /// Whether the lens says anything of what both have.
    pub(crate) is_known: bool,
    /// What somebody who looks at it should know.
    pub(crate) notes: Vec<&'static str>,
}

impl Lens {
    /// Of two sets of these sizes.
    pub(crate) fn of([left, right]: [u64; 2], common: Common) -> Self {
        let mut notes = Vec::new();
        let largest = left.max(right).max(1) as f64;
        let mut radius = |size: u64| {
            let r = LARGEST * (size as f64 / largest).sqrt();
            if size > 0 && r < SMALLEST {
                notes.push("The small circle is drawn larger than true to scale, so that it can be seen.");
            }
            if size == 0 { 0.0 } else { r.max(SMALLEST) }
        };
        let (r, s) = (radius(left), radius(right));
        let least = left.min(right);
        let d = match common.drawn(least) {
            // The share of the smaller set, so that a circle drawn too large has a lens that fits it.
            Some(count @ 1..) => distance(r, s, PI * r.min(s).powi(2) * (count as f64 / least as f64)),
            Some(0) => r + s + GAP,
            None => distance(r, s, PI * r.min(s).powi(2) / 3.0),
        };
        if let Some(1..) = common.drawn(least)
            && r + s - d < THIN
        {
            notes.push("What both have is too little to be seen at this scale.");
        }
        match common {
            Common::Exactly(_) => {}
            Common::About(_) => notes.push("The overlap is that of the count with its noise."),
            Common::AtLeast(_) => notes.push("The overlap is drawn as small as it can be. It may be larger."),
            Common::FewerThan(_) => notes.push("The overlap is drawn larger than it can be."),
            Common::Unknown => {
                notes.push("This side does not learn how large the overlap is: it is not to scale.")
            }
        }
        // The circles together are in the middle of the picture.
        let (from, to) = ((-r).min(d - s), r.max(d + s));
        let x = (WIDTH - (to - from)) / 2.0 - from;
        Lens {
            left: Circle { x, r },
            right: Circle { x: x + d, r: s },
            is_exact: matches!(common, Common::Exactly(_)),
            is_known: common != Common::Unknown,
            notes,
        }
    }

    /// The middle of the lens.
    pub(crate) fn middle(&self) -> f64 {
        let from = (self.left.x - self.left.r).max(self.right.x - self.right.r);
        let to = (self.left.x + self.left.r).min(self.right.x + self.right.r);
        (from + to) / 2.0
    }

    /// The area of the lens as it is drawn.
    #[cfg(test)]
    fn area(&self) -> f64 {
        area(self.left.r, self.right.r, self.right.x - self.left.x)
    }
}

/// The area of the lens of two circles with radii r and s, whose centres are d apart.
fn area(r: f64, s: f64, d: f64) -> f64 {
    if d >= r + s {
        return 0.0;
    }
    if d <= (r - s).abs() {
        return PI * r.min(s).powi(2);
    }
    let angle = |r: f64, s: f64| ((d * d + r * r - s * s) / (2.0 * d * r)).clamp(-1.0, 1.0).acos();
    let kite = ((-d + r + s) * (d + r - s) * (d - r + s) * (d + r + s)).max(0.0).sqrt() / 2.0;
    r * r * angle(r, s) + s * s * angle(s, r) - kite
}

/// How far apart the centres are if the lens has this area.
fn distance(r: f64, s: f64, wanted: f64) -> f64 {
    let (mut near, mut far) = ((r - s).abs(), r + s);
    // Beyond this share of the smaller circle the lens' area is only rounding.
    if wanted >= PI * r.min(s).powi(2) * (1.0 - 1e-9) {
        return near;
    }
    // Each step halves the interval, which is at most 200 wide.
    for _ in 0..60 {
        let middle = (near + far) / 2.0;
        if area(r, s, middle) > wanted { near = middle } else { far = middle }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected.abs() / 1000.0
    }

    fn disc(circle: Circle) -> f64 {
        PI * circle.r.powi(2)
    }

    #[test]
    fn areas_are_as_the_numbers_to_a_thousandth() {
        for (left, right, both) in [
            (20_000, 48_000, 8_000),
            (48_000, 20_000, 19_999),
            (1_000_000, 1_000_000, 1),
            (1_000_000, 1_000_000, 999_999),
            (1_000_000, 2_000, 1_000),
            (7, 5, 3),
        ] {
            let lens = Lens::of([left, right], Common::Exactly(both));
            let key = disc(lens.left) / left as f64;
            assert!(close(disc(lens.right), key * right as f64), "{left} {right} {both}");
            assert!(close(lens.area(), key * both as f64), "{left} {right} {both}: {}", lens.area() / key);
            assert!(lens.is_exact && lens.is_known);
        }
    }

    #[test]
    fn the_formula_is_that_of_known_lenses() {
        // Two unit circles through each other's centre: 2π/3 − √3/2.
        assert!(close(area(1.0, 1.0, 1.0), 2.0 * PI / 3.0 - 3f64.sqrt() / 2.0));
        // A right angle where they meet, with radii 1: π/2 − 1.
        assert!(close(area(1.0, 1.0, 2f64.sqrt()), PI / 2.0 - 1.0));
        assert_eq!((area(1.0, 2.0, 3.0), area(1.0, 2.0, 1.0)), (0.0, PI));
    }

    #[test]
    fn a_set_within_the_other_lies_within_it() {
        for sizes in [[100, 40], [40, 100], [50, 50]] {
            let lens = Lens::of(sizes, Common::Exactly(sizes[0].min(sizes[1])));
            let apart = (lens.right.x - lens.left.x).abs();
            assert!(apart <= (lens.left.r - lens.right.r).abs() + 1e-6, "{sizes:?}");
            assert_eq!(lens.notes, [""; 0]);
        }
    }

    #[test]
    fn sets_with_nothing_in_common_do_not_touch() {
        for (sizes, left, right) in
            [([9, 4], 94.0, 94.0 * 2.0 / 3.0), ([0, 4], 0.0, 94.0), ([0, 0], 0.0, 0.0)]
        {
            let lens = Lens::of(sizes, Common::Exactly(0));
            assert!(lens.left.x + lens.left.r < lens.right.x - lens.right.r, "{sizes:?}");
            assert_eq!((lens.left.r, lens.right.r), (left, right));
        }
    }

    #[test]
    fn one_key_among_a_million_is_seen_and_the_page_says_that_it_is_too_large() {
        let lens = Lens::of([1_000_000, 1], Common::Exactly(1));
        assert_eq!(lens.right.r, SMALLEST);
        assert_eq!(lens.notes.len(), 1);
        assert!(
            lens.right.x + lens.right.r <= lens.left.x + lens.left.r + 1e-6,
            "it lies within the large one"
        );
        let thin = Lens::of([1_000_000, 1_000_000], Common::Exactly(1));
        assert_eq!(thin.notes, ["What both have is too little to be seen at this scale."]);
    }

    #[test]
    fn what_is_not_known_exactly_is_not_drawn_as_if_it_were() {
        for common in [Common::About(30), Common::AtLeast(30), Common::FewerThan(30), Common::Unknown] {
            let lens = Lens::of([100, 100], common);
            assert!(!lens.is_exact && lens.is_known == (common != Common::Unknown), "{common:?}");
            assert_eq!(lens.notes.len(), 1, "{common:?}");
        }
        // Noise goes below zero, and beyond what can be.
        assert_eq!(Lens::of([9, 9], Common::About(-5)).area(), 0.0);
        assert!(close(Lens::of([9, 4], Common::About(50)).area(), PI * (94.0 * 2.0 / 3.0f64).powi(2)));
    }

    #[test]
    fn every_picture_fits() {
        let sizes = [0, 1, 2, 1000, 999_999, u64::MAX];
        for left in sizes {
            for right in sizes {
                for common in [Common::Exactly(0), Common::Exactly(left.min(right) / 2), Common::Unknown] {
                    let lens = Lens::of([left, right], common);
                    for circle in [lens.left, lens.right] {
                        let inside = circle.x - circle.r >= 0.0 && circle.x + circle.r <= WIDTH;
                        assert!(inside && circle.r <= LARGEST, "{left} {right} {common:?}: {lens:?}");
                    }
                }
            }
        }
    }
}
