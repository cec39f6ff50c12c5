//! The times that `vesica plan` starts from: the median of every cell over loopback, as CSV.

use std::fs;

use vesica::plan::{COLUMNS, Configuration};
use vesica::protocols::Learns;

use super::figures::Record;
use crate::BenchError;
use crate::cell::{Asked, Cell, LOOPBACK};
use crate::record::{CELLS, Folder, read_cell};

/// Writes the cells into the record's folder.
pub(super) fn write(record: &Record, folder: &Folder) -> Result<(), BenchError> {
    let path = folder.path().join(CELLS);
    fs::write(&path, text(record, folder)?).map_err(|cause| BenchError::file(&path, cause))
}

/// The file as [`vesica::plan::RECORDS`] has it: the record and its machine, the names of the columns, the cells.
pub(super) fn text(record: &Record, folder: &Folder) -> Result<String, BenchError> {
    let machine = folder.machine();
    let of_machine = |field: &str| {
        let value = machine.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "));
        value.unwrap_or("unknown").to_owned()
    };
    let (processor, cores) = (of_machine("processor"), of_machine("cores"));
    let mut lines = Vec::new();
    for cell in record.cells().map(read_cell).collect::<Result<Vec<_>, _>>()? {
        let plain = cell.network == LOOPBACK
            && !cell.tls
            && cell.learns == Learns::Receiver
            && cell.result == Asked::default();
        let Some(seconds) = record.median(&cell, |line| line.wall_s).filter(|_| plain) else { continue };
        let (entry, shape) = cell.plan()?;
        let Cell { threads, receiver, sender, .. } = cell;
        let configuration = Configuration::of(entry, &shape).columns();
        lines.push((configuration, threads, receiver, sender, seconds));
    }
    lines.sort_by(|a, b| (&a.0, a.1, a.2, a.3).cmp(&(&b.0, b.1, b.2, b.3)));
    let lines = lines.into_iter().map(|(configuration, threads, receiver, sender, seconds)| {
        format!("{configuration},{threads},{receiver},{sender},{seconds:.6}\n")
    });
    let head = format!("# {}, {processor}, {cores} cores\n{COLUMNS}\n", folder.name());
    Ok(head + &lines.collect::<String>())
}
