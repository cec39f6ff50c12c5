//! Tables that know which of their lines are wrong.

/// A heading, what is derived below it and from where, and a table.
pub(crate) struct Section {
    title: String,
    text: String,
    lines: Vec<String>,
    /// The lines where the code differs from the derivation.
    pub(crate) wrong: Vec<String>,
}

impl Section {
    pub(crate) fn new(title: &str, text: &str, head: &[&str]) -> Self {
        let rule = vec!["---"; head.len()];
        let lines = vec![format!("| {} |", head.join(" | ")), format!("| {} |", rule.join(" | "))];
        Section { title: title.into(), text: text.into(), lines, wrong: Vec::new() }
    }

    /// A line; `right` if the code has what is derived.
    pub(crate) fn row<S: AsRef<str>>(&mut self, cells: &[S], right: bool) {
        let mut cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().to_owned()).collect();
        if !right {
            self.wrong.push(format!("{}: {}", self.title, cells[0]));
            cells.last_mut().unwrap().push_str(" **differs**");
        }
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    /// A line of four: what it is, what the code has, what is derived, and from where. The two must be equal.
    pub(crate) fn same<T: PartialEq + ToString>(&mut self, what: &str, code: T, derived: T, from: &str) {
        self.row(&[what, &code.to_string(), &derived.to_string(), from], code == derived);
    }

    /// As Markdown.
    pub(crate) fn text(&self) -> String {
        format!("## {}\n\n{}\n\n{}\n\n", self.title, wrapped(&self.text), self.lines.join("\n"))
    }
}

/// Paragraphs and list items, a line each, as lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let wrap = |paragraph: &str| {
        let indent = if paragraph.starts_with("- ") { "  " } else { "" };
        let (mut lines, mut width) = (String::new(), 0);
        for word in unbroken(paragraph) {
            let length = word.chars().count();
            if width > 0 && width + 1 + length > 120 {
                lines += &format!("\n{indent}");
                width = indent.len();
            } else if width > 0 {
                lines.push(' ');
                width += 1;
            }
            lines += &word;
            width += length;
        }
        lines
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// The words, each with the marks behind it that would begin a list or a heading at the start of a line.
fn unbroken(paragraph: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in paragraph.split(' ') {
        match words.last_mut().filter(|_| ["-", "+", "="].contains(&word)) {
            Some(before) => before.extend([" ", word]),
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// 2^x for the eye: a probability by its logarithm.
pub(crate) fn power(log2: f64) -> String {
    if log2 == f64::NEG_INFINITY { "0".into() } else { format!("2^{log2:.1}") }
}

/// A number of items, as a power of two where it is one.
pub(crate) fn count(items: usize) -> String {
    if items > 512 && items.is_power_of_two() { format!("2^{}", items.ilog2()) } else { items.to_string() }
}

/// log2(n!).
pub(crate) fn log2_factorial(n: f64) -> f64 {
    if n < 64.0 {
        return (2..=n as u64).map(|i| (i as f64).log2()).sum();
    }
    let stirling = n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + 1.0 / (12.0 * n);
    stirling * std::f64::consts::LOG2_E
}
