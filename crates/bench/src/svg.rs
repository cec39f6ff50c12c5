//! Charts as SVG: lines or named points on logarithmic axes. Nothing else is drawn here, and no library that would do it
//! is kept up.

use std::fmt::Write;

/// A chart. Points that are not positive do not stand on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What runs along.
    pub x: Axis,
    /// What runs up.
    pub y: Axis,
    /// Lines, or named points.
    pub series: Vec<Series>,
}

/// A logarithmic axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it is, with its unit.
    pub label: String,
    /// Marks in place of those at powers of ten.
    pub marks: Vec<(f64, String)>,
}

/// Points of one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Where it stands.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub form: Form,
    /// Those of one colour belong together.
    pub colour: usize,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line through them, named in the legend.
    Line,
    /// The same, broken.
    Dashed,
    /// Each with the name beside it.
    Named,
    /// The same, hollow.
    NamedHollow,
}

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 430.0;
const LEFT: f64 = 66.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 46.0;
const LEGEND: f64 = 250.0;
const GLYPH: f64 = 6.1;
const LINE: f64 = 14.0;
const COLOURS: [&str; 12] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf", "#7f7f7f",
    "#bcbd22", "#000000", "#1b5e20",
];

/// One axis on the page.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value.log10()), high.max(value.log10()))
        });
        let room = ((high - low) * 0.05).max(0.05);
        (low <= high).then_some(Scale { low: low - room, high: high + room, from, to })
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (value.log10() - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value.log10())
    }

    /// Powers of ten; with 2 and 5 where there are few of them.
    fn marks(&self, axis: &Axis) -> Vec<(f64, String)> {
        let steps: &[f64] = if self.high - self.low < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let marks: Vec<_> = if axis.marks.is_empty() {
            let decades = self.low.floor() as i32..=self.high.ceil() as i32;
            let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            values.map(|value| (value, plain(value))).collect()
        } else {
            axis.marks.clone()
        };
        marks.into_iter().filter(|(value, _)| self.holds(*value)).collect()
    }
}

/// 0.001, 5, 1000, 10⁵.
fn plain(value: f64) -> String {
    if (1e-4..1e5).contains(&value) {
        format!("{}", (value * 1e6).round() / 1e6)
    } else {
        format!("{value:e}")
    }
}

impl Chart {
    /// The picture; none if no point stands on it.
    pub fn svg(&self) -> Option<String> {
        let legend = self.series.iter().any(|series| matches!(series.form, Form::Line | Form::Dashed));
        let right = WIDTH - if legend { LEGEND } else { 30.0 };
        let points = || self.series.iter().flat_map(|series| series.drawn());
        let x = Scale::new(points().map(|point| point.0), LEFT, right)?;
        let y = Scale::new(points().map(|point| point.1), HEIGHT - BOTTOM, TOP)?;
        let mut page = Page(String::new());
        page.frame(self, &x, &y);
        let mut labels = Labels { taken: Vec::new(), right, waiting: Vec::new() };
        for (row, series) in self.series.iter().enumerate() {
            page.series(series, row, &x, &y, &mut labels);
        }
        labels.place(&mut page);
        page.0.push_str("</svg>\n");
        Some(page.0)
    }
}

impl Series {
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().copied().filter(|(x, y)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite())
    }
}

struct Page(String);

impl Page {
    /// Adds a line. Writing to a string cannot fail.
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{text}");
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.add(format_args!(r#"<text x="{x:.0}" y="{y:.0}" text-anchor="{anchor}">{text}</text>"#));
    }

    fn frame(&mut self, chart: &Chart, x: &Scale, y: &Scale) {
        self.add(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"#
        ));
        for (value, name) in x.marks(&chart.x) {
            let at = x.at(value);
            self.add(format_args!(r##"<path d="M{at:.1} {TOP}V{:.0}" stroke="#ddd"/>"##, y.from));
            self.text(at, y.from + 14.0, "middle", &name);
        }
        for (value, name) in y.marks(&chart.y) {
            let at = y.at(value);
            self.add(format_args!(r##"<path d="M{LEFT} {at:.1}H{:.0}" stroke="#ddd"/>"##, x.to));
            self.text(LEFT - 5.0, at + 4.0, "end", &name);
        }
        self.add(format_args!(
            r##"<path d="M{LEFT} {TOP}V{:.0}H{:.0}" fill="none" stroke="#333"/>"##,
            y.from, x.to
        ));
        self.text(LEFT, TOP - 28.0, "start", &chart.title);
        self.text(8.0, TOP - 10.0, "start", &format!("↑ {}", chart.y.label));
        self.text((LEFT + x.to) / 2.0, HEIGHT - 12.0, "middle", &chart.x.label);
    }

    fn series(&mut self, series: &Series, row: usize, x: &Scale, y: &Scale, labels: &mut Labels) {
        let colour = COLOURS[series.colour % COLOURS.len()];
        let places: Vec<_> = series.drawn().map(|point| (x.at(point.0), y.at(point.1))).collect();
        if places.is_empty() {
            return;
        }
        if let Form::Line | Form::Dashed = series.form {
            let dash = if series.form == Form::Dashed { r#" stroke-dasharray="5 4""# } else { "" };
            let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            self.add(format_args!(
                r#"<path d="M{}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>"#,
                path.join("L")
            ));
            let (at, down) = (WIDTH - LEGEND + 12.0, TOP + 10.0 + LINE * row as f64);
            self.add(format_args!(
                r#"<path d="M{at} {down}h22" stroke="{colour}" stroke-width="1.5"{dash}/>"#
            ));
            self.text(at + 28.0, down + 4.0, "start", &series.name);
        }
        for (x, y) in places {
            let fill = if series.form == Form::NamedHollow { "white" } else { colour };
            self.add(format_args!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.2" fill="{fill}" stroke="{colour}"/>"#
            ));
            labels.taken.push([x - 4.0, y - 4.0, x + 4.0, y + 4.0]);
            if let Form::Named | Form::NamedHollow = series.form {
                labels.waiting.push((x, y, series.name.clone()));
            }
        }
    }
}

/// Names of points, each where it hides nothing.
struct Labels {
    /// Left, top, right, bottom of what is there.
    taken: Vec<[f64; 4]>,
    right: f64,
    waiting: Vec<(f64, f64, String)>,
}

impl Labels {
    fn place(mut self, page: &mut Page) {
        for (x, y, name) in std::mem::take(&mut self.waiting) {
            let width = GLYPH * name.chars().count() as f64;
            let rows = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0];
            let sides = [x + 6.0, x - 6.0 - width, x - width / 2.0];
            let spots = rows.iter().flat_map(|row| sides.map(|left| (left, y + 4.0 + row * 11.0)));
            let area = |(left, base): (f64, f64)| [left, base - 9.0, left + width, base + 2.0];
            let free = |spot: &(f64, f64)| {
                let [left, top, right, bottom] = area(*spot);
                let hits = |other: &[f64; 4]| {
                    left < other[2] && other[0] < right && top < other[3] && other[1] < bottom
                };
                left >= LEFT && right <= self.right + 14.0 && top > TOP && !self.taken.iter().any(hits)
            };
            let spot = spots.clone().find(free).unwrap_or((x + 6.0, y + 4.0));
            self.taken.push(area(spot));
            page.text(spot.0, spot.1, "start", &name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(form: Form) -> Chart {
        let axis = |label: &str| Axis { label: label.into(), marks: Vec::new() };
        let series = |name: &str, colour, points| Series { name: name.into(), points, form, colour };
        Chart {
            title: "a < b".into(),
            x: axis("items"),
            y: axis("s"),
            series: vec![
                series("one", 0, vec![(256.0, 0.01), (65536.0, 2.0)]),
                series("two", 1, vec![(256.0, 0.01), (65536.0, f64::NAN), (0.0, 1.0)]),
            ],
        }
    }

    #[test]
    fn lines_have_a_legend_and_marks_stand_at_powers_of_ten() {
        let text = chart(Form::Dashed).svg().unwrap();
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{text}");
        for part in ["a &lt; b", ">one<", ">two<", "dasharray", ">0.1<", ">1000<"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("<circle").count(), 3, "what is not positive is left out");
    }

    #[test]
    fn names_do_not_hide_each_other() {
        let text = chart(Form::Named).svg().unwrap();
        let place = |name: &str| {
            let line = text.lines().find(|line| line.ends_with(&format!(">{name}</text>"))).unwrap();
            line.split('"').nth(3).unwrap().to_owned() + line.split('"').nth(1).unwrap()
        };
        assert_eq!(text.matches(">one<").count(), 2);
        assert_ne!(place("one"), place("two"));
    }

    #[test]
    fn nothing_is_no_chart() {
        let mut nothing = chart(Form::Line);
        nothing.series.clear();
        assert_eq!(nothing.svg(), None);
    }
}
