use std::fs;
use std::path::{Path, PathBuf};

use super::cells;
use super::figures::*;
use super::pages::{MARKERS, link, splice};
use super::table::{not_built, table};
use crate::cell::{Cell, Networks};
use crate::definition::Definition;
use crate::record::{Folder, Line, read_cell};

/// The records in the repository that `vesica plan` takes its times from, the preferred one first.
fn plan_records() -> Vec<Folder> {
    let names = vesica::plan::sources().map(|source| source.split(',').next().unwrap());
    names.map(|name| Folder::open(&root().join("record").join(name)).unwrap()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks")
}

#[test]
fn the_times_of_plan_are_those_of_all_records() {
    let mut names = Vec::new();
    for (folder, cells) in plan_records().iter().zip(vesica::plan::RECORDS) {
        let now = cells::text(&Record::read(folder).unwrap(), folder).unwrap();
        assert!(
            now == cells,
            "{0}: `vesica bench report` writes cells.csv again; it goes to crates/vesica/cells/{0}.csv",
            folder.name()
        );
        names.push(folder.name());
    }
    for entry in fs::read_dir(root().join("record")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name}: `vesica::plan::RECORDS` lacks its cells");
    }
}

/// `vesica plan` adds half a round trip for each flight. A faster run of the record would show that there are fewer flights.
#[test]
fn no_run_of_the_record_was_faster_than_its_round_trips() {
    let networks = Networks::read(&root().join("networks.toml")).unwrap();
    let mut delayed = 0;
    for line in plan_records()[0].read_all().unwrap() {
        let cell = read_cell(&line.cell).unwrap();
        let link = networks.find(&cell.network).unwrap();
        let (entry, shape) = cell.plan().unwrap();
        let waiting_s = f64::from(entry.flights_of(&shape)) / 2.0 * link.round_trip_ms * 1e-3;
        assert!(line.wall_s >= waiting_s, "{} s, {waiting_s} s of waiting: {}", line.wall_s, line.cell);
        delayed += usize::from(waiting_s > 0.0);
    }
    assert!(delayed > 100, "{delayed} runs with a delay");
}

const TEXT: &str = r#"
    title = "Time"
    source = "a paper"
    setting = "a machine"
    measure = "time"
    unit = "ms"
    columns = [
        { name = "n", cell = { receiver = 4, sender = 4 } },
        { name = "m", cell = { receiver = 8, sender = 8 } },
    ]
    [[rows]]
    name = "dh"
    cell = { protocol = "dh" }
    paper = [500.0, "~1000"]
    [[rows]]
    name = "gpu"
    cannot = "no GPU"
    paper = [1.5, nan]
    [[rows]]
    name = "later"
    awaits = "not-in-the-registry"
"#;

fn line(wall_s: f64) -> Line {
    Line::of(&Cell::new("dh", 4, 4), wall_s, 0)
}

#[test]
fn a_table_shows_paper_ours_and_ratio_and_nothing_without_a_figure() {
    let networks = Networks::default();
    let definition = Definition::parse("a/b", TEXT, &networks).unwrap();
    let record = Record::from(vec![line(0.1), line(0.3), line(0.25)]);
    let text = table(&definition, &record.clone().into()).unwrap();
    assert!(text.contains("| dh | 500 → **250** (0.500×) | ~1000 |"), "{text}");
    assert!(text.contains("| gpu | 1.5 | – |"), "{text}");
    assert!(text.contains("- Not run here: gpu: no GPU."), "{text}");
    assert!(!text.contains("later"), "{text}");
    assert_eq!(not_built(&definition).collect::<Vec<_>>(), ["`not-in-the-registry`"]);
    let once = Record::from(vec![line(0.25)]);
    assert!(table(&definition, &once.into()).unwrap().contains("**250**¹"), "a single run is marked");

    // Without the paper's figures: a row, a column and a table without a figure of ours are not there.
    let bare = TEXT.replace("paper = [500.0, \"~1000\"]", "").replace("paper = [1.5, nan]", "");
    let bare = Definition::parse("a/b", &bare, &networks).unwrap();
    let text = table(&bare, &record.into()).unwrap();
    assert!(text.contains("| | n |\n|---|---|\n| dh | **250** |\n\n"), "{text}");
    assert_eq!(table(&bare, &Records::default()), None);
}

#[test]
fn figures_of_another_machine_have_its_name() {
    let definition = Definition::parse("a/b", TEXT, &Networks::default()).unwrap();
    let other = |sizes: usize, wall_s| Line { ..Line::of(&Cell::new("dh", sizes, sizes), wall_s, 0) };
    let records = |main: Vec<Line>| Records {
        main: main.into(),
        beside: vec![("xeon".to_owned(), vec![other(4, 1.0), other(8, 2.0)].into())],
    };
    let text = table(&definition, &records(vec![line(0.25)])).unwrap();
    let [first, second] =
        ["500 → **250**¹ (0.500×); **1000**¹ _xeon_ (2.00×)", "~1000 → **2000**¹ _xeon_ (2.00×)"];
    assert!(text.contains(&format!("| dh | {first} | {second} |")), "{text}");
    // Bytes are those of any machine: one figure is enough.
    let traffic = TEXT.replace("\"time\"", "\"traffic\"").replace("\"ms\"", "\"bytes\"");
    let definition = Definition::parse("a/b", &traffic, &Networks::default()).unwrap();
    let text = table(&definition, &records(vec![line(0.25)])).unwrap();
    assert_eq!(text.matches("_xeon_").count(), 1, "{text}");
}

#[test]
fn a_row_of_phases_sums_them() {
    let text = TEXT.replace("name = \"dh\"", "name = \"dh\"\nphases = [\"compare\", \"blind\"]");
    let definition = Definition::parse("a/b", &text, &Networks::default()).unwrap();
    let found = ours(&definition, &definition.rows[0], 0, &Record::from(vec![line(0.1)])).unwrap();
    assert_eq!(found.median, 30.0);
}

#[test]
fn a_column_of_phases_sums_them() {
    let text = TEXT.replace(
        "name = \"m\", cell = { receiver = 8, sender = 8 }",
        "name = \"m\", cell = { receiver = 4, sender = 4 }, phases = [\"compare\"]",
    );
    let definition = Definition::parse("a/b", &text, &Networks::default()).unwrap();
    let record = Record::from(vec![line(0.1)]);
    let found = ours(&definition, &definition.rows[0], 1, &record).unwrap();
    assert_eq!(found.median, 20.0);
    let text = text.replace("\"compare\"", "\"evaluate\"");
    let definition = Definition::parse("a/b", &text, &Networks::default()).unwrap();
    assert!(ours(&definition, &definition.rows[0], 1, &record).is_none(), "no such phase");
}

#[test]
fn the_page_keeps_what_is_outside_the_markers() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    fs::write(&page, format!("before\n{}\nold\n{}\nafter\n", MARKERS[0], MARKERS[1])).unwrap();
    splice(&page, "new\n").unwrap();
    let text = fs::read_to_string(&page).unwrap();
    assert_eq!(text, format!("before\n{}\n\nnew\n{}\nafter\n", MARKERS[0], MARKERS[1]));
    fs::write(&page, "no markers").unwrap();
    assert!(splice(&page, "new").is_err());
}

#[test]
fn links_lead_from_the_page_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("docs")).unwrap();
    fs::create_dir_all(at("record/plots")).unwrap();
    fs::write(at("docs/page.md"), "").unwrap();
    fs::write(at("record/plots/a.svg"), "").unwrap();
    assert_eq!(link(&at("docs/page.md"), &at("record/plots/a.svg")).unwrap(), "../record/plots/a.svg");
}
