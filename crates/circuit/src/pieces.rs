//! Long rows in pieces. A circuit is written for rows of any length; an engine that keeps its work in the cache takes a
//! few hundred instances of a gadget at a time ([`Engine::chunk`]). An instance is one column of the rows.

use std::ops::Range;

use crate::bits::Bits;
use crate::engine::{Engine, Input, Party};
use crate::error::Error;
use crate::wires::Wires;

/// How many of at most `most` instances of a gadget the engine takes at once.
pub(crate) fn at_once<E: Engine>(engine: &E, most: usize) -> usize {
    engine.chunk().clamp(1, most)
}

/// `all` in ranges of `size`, but for the last.
pub(crate) fn ranges(all: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    all.clone().step_by(size.max(1)).map(move |first| first..all.end.min(first.saturating_add(size.max(1))))
}

/// The pieces of `len` instances that the engine takes.
pub(crate) fn pieces<E: Engine>(engine: &E, len: usize) -> impl Iterator<Item = Range<usize>> + use<E> {
    ranges(0..len, engine.chunk())
}

/// `len` instances in batches of `size`, or of a piece if the engine takes more: what is held at a time.
pub(crate) fn batches<E: Engine>(
    engine: &E,
    len: usize,
    size: usize,
) -> impl Iterator<Item = Range<usize>> + use<E> {
    ranges(0..len, size.max(engine.chunk()))
}

/// The `rows` rows of a gadget's result for `len` instances. The gadget is called for one range of at most `most` instances
/// after the other, and gives its rows of that range.
///
/// # Errors
/// Those of the gadget.
pub(crate) fn in_pieces<E: Engine>(
    engine: &mut E,
    (len, most): (usize, usize),
    rows: usize,
    mut gadget: impl FnMut(&mut E, Range<usize>) -> Result<Vec<E::Wires>, Error>,
) -> Result<Vec<E::Wires>, Error> {
    let mut all = vec![engine.constant(false, len); rows];
    for piece in ranges(0..len, at_once(engine, most)) {
        let start = piece.start;
        let found = gadget(engine, piece)?;
        all.iter_mut().zip(&found).for_each(|(row, part)| row.write(start, part));
    }
    Ok(all)
}

/// A range of all rows.
pub(crate) fn slices<W: Wires>(rows: &[W], range: Range<usize>) -> Vec<W> {
    rows.iter().map(|row| row.slice(range.clone())).collect()
}

/// [`Engine::and_private`], one piece after the other.
///
/// # Errors
/// As [`Engine::and_private`].
pub(crate) fn and_private<E: Engine>(
    engine: &mut E,
    owner: Party,
    select: Input<'_>,
    values: &[E::Wires],
) -> Result<Vec<E::Wires>, Error> {
    in_pieces(engine, (select.row_len(), usize::MAX), values.len(), |engine, piece| {
        engine.and_private(owner, part(select, piece.clone()).as_input(), &slices(values, piece))
    })
}

/// A range of all rows of an input.
pub(crate) enum Part {
    Known(Vec<Bits>),
    Hidden { rows: usize, len: usize },
}

impl Part {
    /// The range as an input of its own.
    pub(crate) fn as_input(&self) -> Input<'_> {
        match self {
            Part::Known(rows) => Input::Known(rows),
            Part::Hidden { rows, len } => Input::Hidden { rows: *rows, len: *len },
        }
    }
}

/// A range of all rows of an input.
pub(crate) fn part(input: Input<'_>, range: Range<usize>) -> Part {
    match input {
        Input::Known(rows) => Part::Known(slices(rows, range)),
        Input::Hidden { rows, .. } => Part::Hidden { rows, len: range.len() },
    }
}
