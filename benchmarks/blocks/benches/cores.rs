//! What more threads do for a party: each phase of a job alone, and each role of a protocol alone.
//!
//! `cores [ROWS] [THREADS,THREADS,…] [NAME …]`, by default 2^20 rows, 1 and 2 threads, all phases and the protocols of
//! [`PROTOCOLS`]; names are those of protocols, `phases`, or `read`, `write`, `split`, `compare` and `digest`. Two
//! parties on one machine share its cores, so a role plays against a recording of what its partner sent: both roles ran
//! once before, with the same randomness. Its set is in one piece, and then in a part for each thread. Each figure is
//! the median of [`RUNS`] runs, in turns over the numbers of threads. *Gain* is the wall time of the first number of
//! threads over that of this one; *CPU* is the CPU time of this one over that of the first.

use std::fs::File;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use vesica::channel::memory;
use vesica::channel::transport::{
    Control, FrameReceiver, FrameSender, Meanwhile, Result as Sent, Transport, Urgency,
};
use vesica::channel::{CancelToken, Channel, ChannelError, Frame, Kind, Stream};
use vesica::encode::items::{Encoding, Items, Matches, Split, Width};
use vesica::encode::parts::Parts;
use vesica::protocols::registry::{self, Entry};
use vesica::protocols::{Ctx, Outcome, Parameters, Phase, Progress, Role, Security, Sizes};
use vesica::resources::cpu_seconds;
use vesica::table::{Input, KeySpec, Request, Table};
use vesica_crypto::join::join;
use vesica_crypto::prg::Prg;

/// Runs of each cell.
const RUNS: usize = 3;

/// Protocols, their security, and the logarithm of the set size in place of a larger one.
const PROTOCOLS: &[(&str, Security, u32)] = &[
    ("vole", Security::Malicious, 20),
    ("vole", Security::SemiHonest, 20),
    ("kkrt", Security::SemiHonest, 20),
    ("gbf", Security::SemiHonest, 16),
    ("gbf-rr16", Security::Malicious, 16),
    ("circuit-vole", Security::SemiHonest, 16),
    ("scs-wn", Security::SemiHonest, 11),
    ("dh", Security::SemiHonest, 15),
    ("dkt", Security::Malicious, 13),
];

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let (mut rows, mut threads, mut names) = (1 << 20, vec![1, 2], Vec::new());
    // `cargo bench` adds `--bench`.
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match argument.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>() {
            Ok(numbers) if argument.contains(',') => threads = numbers,
            Ok(numbers) => rows = numbers[0],
            Err(_) => names.push(argument),
        }
    }
    let asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    println!("| what | threads | wall s | CPU s | gain | CPU |\n| --- | --- | --- | --- | --- | --- |");
    phases(rows, &threads, &asked)?;
    for (name, security, most) in PROTOCOLS.iter().filter(|(name, ..)| asked(name)) {
        let entry = registry::find(name).ok_or("no such protocol")?;
        roles(entry, *security, rows.min(1 << most), &threads)?;
    }
    Ok(())
}

/// Times what `work` does with each number of threads, and prints the rows of the table.
fn measure(
    what: &str,
    threads: &[usize],
    mut work: impl FnMut(usize) -> Result<(), Failed>,
) -> Result<(), Failed> {
    measure_phases(what, threads, |threads| work(threads).map(|()| Vec::new()))
}

/// As [`measure`], for work that tells how long each of its phases took.
fn measure_phases(
    what: &str,
    threads: &[usize],
    mut work: impl FnMut(usize) -> Result<Vec<(Phase, Duration)>, Failed>,
) -> Result<(), Failed> {
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); threads.len()];
    let mut phases: Vec<Vec<(Phase, Duration)>> = vec![Vec::new(); threads.len()];
    // The first run also warms up.
    for run in 0..=RUNS {
        for ((threads, times), phases) in threads.iter().zip(&mut times).zip(&mut phases) {
            let (started, cpu) = (Instant::now(), cpu_seconds());
            *phases = work(*threads)?;
            if run > 0 {
                times.push((started.elapsed().as_secs_f64(), cpu_seconds() - cpu));
            }
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let medians: Vec<(f64, f64)> =
        times.into_iter().map(|runs| runs.into_iter().unzip()).map(|(w, c)| (median(w), median(c))).collect();
    for (threads, (wall, cpu)) in threads.iter().zip(&medians) {
        let (gain, more) = (medians[0].0 / wall, cpu / medians[0].1);
        println!("| {what} | {threads} | {wall:.3} | {cpu:.3} | {gain:.2} | {more:.2} |");
    }
    // Of the last run.
    for (at, (phase, one)) in phases[0].iter().enumerate() {
        for (threads, phases) in threads.iter().zip(&phases) {
            let wall = phases.get(at).map_or(0.0, |(_, wall)| wall.as_secs_f64());
            println!("| – {phase} | {threads} | {wall:.3} | | {:.2} | |", one.as_secs_f64() / wall);
        }
    }
    Ok(())
}

/// The phases of a job that need no partner.
fn phases(rows: usize, threads: &[usize], asked: &impl Fn(&str) -> bool) -> Result<(), Failed> {
    let wanted = |phase: &str| asked("phases") || asked(phase);
    let go = &mut |_| ControlFlow::Continue(());
    let file = csv(rows)?;
    let request = |threads| -> Result<Request, Failed> {
        let keys = vec!["email:email".parse::<KeySpec>()?];
        Ok(Request { threads, ..Request::new(keys, Encoding::Digest(Width::Digest128)) })
    };
    let load_from = |file: &Path, threads| -> Result<(Table, Items), Failed> {
        Ok(Input::open(file)?.load(&request(threads)?, &mut |_| ControlFlow::Continue(()))?)
    };
    let load = |threads| load_from(file.path(), threads);
    let columns = parquet(rows)?;
    if wanted("read") {
        measure(&format!("read a CSV, {rows} rows"), threads, |threads| load(threads).map(drop))?;
        measure(&format!("read a Parquet file, {rows} rows"), threads, |threads| {
            load_from(columns.path(), threads).map(drop)
        })?;
        let frame = frame(rows)?;
        measure(&format!("read a data frame, {rows} rows"), threads, |threads| {
            let input = Input::keep_batches("frame", frame.schema(), vec![frame.clone()])?;
            Ok(input.load(&request(threads)?, go).map(drop)?)
        })?;
    }
    if wanted("write") {
        let tables: Vec<(Table, Items)> =
            threads.iter().map(|threads| load(*threads)).collect::<Result<_, _>>()?;
        let of_columns: Vec<(Table, Items)> =
            threads.iter().map(|threads| load_from(columns.path(), *threads)).collect::<Result<_, _>>()?;
        for (format, tables) in [("CSV", &tables), ("Parquet", &of_columns)] {
            for every in [2, 1000] {
                let items = &tables[0].1;
                let matches = items.matches((0..items.len()).step_by(every));
                measure(&format!("write a row in {every}, {rows} rows of {format}"), threads, |wanted| {
                    let at = threads.iter().position(|threads| *threads == wanted).unwrap_or(0);
                    let (table, _) = &tables[at];
                    Ok(table.select(&matches, &mut std::io::sink(), &mut |_| ControlFlow::Continue(()))?)
                })?;
            }
        }
    }
    let (_, items) = load(threads[0])?;
    if wanted("split") {
        let parts = Parts::new(16)?;
        measure(&format!("split into 16 parts, {rows} keys"), threads, |threads| {
            let split = Split::by_threads(threads, &items, &[1; 32], parts)?;
            Ok(split.all_parts(threads, &mut Prg::from_seed([2; 16])).map(drop)?)
        })?;
    }
    if wanted("compare") {
        let tags = |from: usize| -> Vec<u128> {
            let number = |item: &[u8]| item.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            items.digests().skip(from).map(number).collect()
        };
        let (mine, theirs) = (tags(0), tags(items.len() / 2));
        measure(&format!("compare, {rows} masks"), threads, |threads| {
            drop(join(threads, &mine, &theirs));
            Ok(())
        })?;
    }
    if wanted("digest") {
        let input = Input::open(file.path())?;
        measure(&format!("digest a file, {rows} rows"), &threads[..1], |_| {
            Ok(input.digest(go).map(drop)?)
        })?;
    }
    Ok(())
}

fn address(row: usize) -> String {
    format!("user{:013}@example.org", (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24)
}

/// A CSV of four columns, about 54 bytes a row.
fn csv(rows: usize) -> Result<tempfile::NamedTempFile, Failed> {
    let mut file = tempfile::NamedTempFile::new()?;
    let mut out = std::io::BufWriter::new(File::create(file.path())?);
    writeln!(out, "id,email,name,score")?;
    for row in 0..rows {
        writeln!(out, "{row},{},Name {},7", address(row), row % 1000)?;
    }
    out.flush()?;
    file.flush()?;
    Ok(file)
}

/// A Parquet file of eight columns, half of them of texts, in row groups of 2^17 rows.
fn parquet(rows: usize) -> Result<tempfile::NamedTempFile, Failed> {
    let file = tempfile::NamedTempFile::new()?;
    let odd = |i: u64| (0x9e37_79b9_7f4a_7c15 / i) | 1;
    let mixed = |row: usize, i: u64| (row as u64).wrapping_mul(odd(i)) >> 30;
    let texts = |i| StringArray::from_iter_values((0..rows).map(|row| format!("Text {:x}", mixed(row, i))));
    let numbers = |i| Int64Array::from_iter_values((0..rows).map(|row| mixed(row, i) as i64));
    let mut columns: Vec<(String, ArrayRef)> = vec![("email".to_owned(), frame(rows)?.column(0).clone())];
    columns.extend((1..4).map(|i| (format!("text {i}"), Arc::new(texts(i)) as ArrayRef)));
    columns.extend((4..8).map(|i| (format!("number {i}"), Arc::new(numbers(i)) as ArrayRef)));
    let batch = RecordBatch::try_from_iter(columns)?;
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let properties = snappy.set_max_row_group_row_count(Some(1 << 17)).build();
    let mut writer = ArrowWriter::try_new(File::create(file.path())?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(file)
}

/// Such addresses in memory.
fn frame(rows: usize) -> Result<RecordBatch, Failed> {
    let mails = StringArray::from_iter_values((0..rows).map(address));
    Ok(RecordBatch::try_from_iter([("email", Arc::new(mails) as _)])?)
}

/// Hears how long each phase of a role takes, in the order in which they first begin.
#[derive(Default)]
struct Watch(Mutex<Vec<(Phase, Duration, Option<Instant>)>>);

impl Watch {
    fn phases(&self) -> Vec<(Phase, Duration)> {
        self.begin(None);
        let phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        phases.iter().map(|(phase, wall, _)| (*phase, *wall)).collect()
    }

    fn begin(&self, phase: Option<Phase>) {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, wall, since) in phases.iter_mut() {
            *wall += since.take().map_or(Duration::ZERO, |since| since.elapsed());
        }
        let Some(phase) = phase else { return };
        let at = phases.iter().position(|(known, ..)| *known == phase);
        let at = at.unwrap_or_else(|| {
            phases.push((phase, Duration::ZERO, None));
            phases.len() - 1
        });
        phases[at].2 = Some(Instant::now());
    }
}

impl Progress for Watch {
    fn phase(&self, phase: Phase, _: u64) {
        self.begin(Some(phase));
    }
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

/// Keeps a copy of the payloads that are taken.
struct Recorded {
    inner: Box<dyn FrameReceiver>,
    payloads: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl FrameReceiver for Recorded {
    fn pop(&mut self, spent: Vec<u8>, wanted: usize) -> Sent<Frame> {
        let frame = self.inner.pop(spent, wanted)?;
        if frame.kind == Kind::Data {
            let mut payloads = self.payloads.lock().unwrap_or_else(PoisonError::into_inner);
            payloads.push(frame.payload().to_vec());
        }
        Ok(frame)
    }

    fn waiting(&self) -> usize {
        self.inner.waiting()
    }
}

/// The partner as it was recorded: everything has come, and nothing is heard.
struct Recording {
    payloads: Arc<Vec<Vec<u8>>>,
    next: usize,
    left: usize,
}

impl FrameReceiver for Recording {
    fn pop(&mut self, _: Vec<u8>, _: usize) -> Sent<Frame> {
        let payload = self.payloads.get(self.next).ok_or(ChannelError::Closed)?;
        self.next += 1;
        self.left -= payload.len();
        Ok(Frame::new(Kind::Data, payload))
    }

    fn waiting(&self) -> usize {
        self.left
    }
}

struct Nobody;

impl FrameSender for Nobody {
    fn push(&mut self, mut frame: Frame, _: Urgency, _: Meanwhile) -> Sent<Vec<u8>> {
        frame.bytes.clear();
        Ok(frame.bytes)
    }

    fn close_with(&mut self, _: Vec<Frame>) {}
}

impl Control for Nobody {
    fn send_now(&self) {}
    fn check(&self) -> Sent<()> {
        Ok(())
    }
    fn expect_within(&self, _: Option<Duration>) {}
    fn pause_until(&self, _: Instant) -> Sent<()> {
        Ok(())
    }
    fn fail(&self, error: ChannelError) -> ChannelError {
        error
    }
    fn was_declined(&self) -> bool {
        false
    }
    fn cancel_on(&self, _: &CancelToken) {}
    fn finish(&self) -> Sent<()> {
        Ok(())
    }
    fn close(&self) {}
}

/// The sets of both sides, or of a pair of their parts, and how a protocol is to treat them.
struct Match {
    entry: &'static Entry,
    parameters: Parameters,
    sizes: Sizes,
    mine: Items,
    theirs: Items,
}

/// What came from the partner, frame by frame.
type Heard = Arc<Vec<Vec<u8>>>;

impl Match {
    /// Plays one role.
    fn play(
        &self,
        role: Role,
        mut channel: Stream,
        (threads, watch): (usize, &Watch),
    ) -> Result<Option<Matches>, String> {
        let mut rng = Prg::from_seed([role as u8 + 1; 16]);
        let mut run = self.entry.run(&[3; 32], self.sizes, self.parameters);
        (run.threads, run.progress) = (threads, watch);
        let ctx = &mut Ctx::new(&run, &mut channel, &mut rng);
        let failed = |error: vesica::protocols::Error| error.to_string();
        let outcome = match role {
            Role::Receiver => {
                self.entry.receive(ctx, &self.mine).and_then(|pending| pending.finish()).map(Some)
            }
            Role::Sender => self.entry.send(ctx, &self.theirs).map(|_| None),
        };
        let outcome = outcome.map_err(failed)?;
        channel.flush().map_err(|error| error.to_string())?;
        Ok(match outcome {
            Some(Outcome::Matches(matches)) => Some(matches),
            _ => None,
        })
    }

    /// What receiver and sender hear of each other.
    fn record(&self) -> Result<[Heard; 2], Failed> {
        let heard: [Arc<Mutex<Vec<Vec<u8>>>>; 2] = Default::default();
        let (one, two) = memory::transports(&CancelToken::new());
        let record = |transport: Transport, payloads: &Arc<Mutex<Vec<Vec<u8>>>>| {
            let incoming = Box::new(Recorded { inner: transport.incoming, payloads: payloads.clone() });
            Stream::new(Transport { incoming, ..transport })
        };
        let (here, there) = (record(one, &heard[0]), record(two, &heard[1]));
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| self.play(Role::Sender, there, (1, &Watch::default())).map(drop));
            self.play(Role::Receiver, here, (1, &Watch::default()))?;
            sender.join().map_err(|_| "the sender panicked")??;
            Ok::<(), Failed>(())
        })?;
        Ok(heard.map(|heard| {
            Arc::new(std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner)))
        }))
    }

    /// Plays one role against what it heard before.
    fn replay(
        &self,
        role: Role,
        heard: &[Heard; 2],
        how: (usize, &Watch),
    ) -> Result<Option<Matches>, String> {
        let payloads = heard[role as usize].clone();
        let left = payloads.iter().map(Vec::len).sum();
        let incoming = Box::new(Recording { payloads, next: 0, left });
        let (outgoing, control, counters) = (Box::new(Nobody), Arc::new(Nobody), Arc::default());
        self.play(role, Stream::new(Transport { outgoing, incoming, control, counters }), how)
    }
}

/// Both roles of a protocol, each alone: the set in one piece, whose loops have all threads, and in as many parts as there
/// are threads, each of which plays one.
fn roles(entry: &'static Entry, security: Security, size: usize, threads: &[usize]) -> Result<(), Failed> {
    let names = |from: usize| (from..from + size).map(address).collect::<Vec<_>>();
    let parameters = Parameters { security, ..Parameters::default() };
    let Encoding::Digest(width) = parameters.encoding() else { return Err("items are digests".into()) };
    let [mine, theirs] = [0, size / 2].map(|from| Items::of_keys(width, &names(from)));
    let sizes = Sizes { receiver: size, sender: size };
    let whole = Match { entry, parameters, sizes, mine: mine?, theirs: theirs? };
    let heard = whole.record()?;
    let split = |threads: usize, role: Role, parts: Parts| -> Result<(Split<'_>, Vec<Items>), Failed> {
        let items = if role == Role::Receiver { &whole.mine } else { &whole.theirs };
        let split = Split::by_threads(threads, items, &[1; 32], parts)?;
        let parts = split.all_parts(threads, &mut Prg::from_seed([role as u8 + 4; 16]))?;
        Ok((split, parts))
    };
    let mut in_parts = Vec::new();
    for &threads in threads {
        let parts = Parts::new(threads as u32)?;
        let parameters = Parameters { statistical: parts.statistical_security(), ..parameters };
        let (_, mine) = split(threads, Role::Receiver, parts)?;
        let (_, theirs) = split(threads, Role::Sender, parts)?;
        let pair = |(mine, theirs): (Items, Items)| {
            let part = Match {
                sizes: Sizes { receiver: mine.len(), sender: theirs.len() },
                parameters,
                mine,
                theirs,
                entry,
            };
            Ok::<_, Failed>((part.record()?, part))
        };
        in_parts.push((parts, mine.into_iter().zip(theirs).map(pair).collect::<Result<Vec<_>, _>>()?));
    }
    for role in [Role::Receiver, Role::Sender] {
        let what = format!("{} {}, {size} keys, {role}", entry.name, security.name());
        measure_phases(&what, threads, |threads| {
            let watch = Watch::default();
            whole.replay(role, &heard, (threads, &watch))?;
            Ok(watch.phases())
        })?;
        measure(&format!("{what}, a part for each thread"), threads, |wanted| {
            let at = threads.iter().position(|threads| *threads == wanted).unwrap_or(0);
            let (parts, recorded) = &in_parts[at];
            if wanted == 1 {
                return Ok(whole.replay(role, &heard, (1, &Watch::default())).map(drop)?);
            }
            let (split, items) = split(wanted, role, *parts)?;
            drop(items);
            let matches = std::thread::scope(|scope| {
                let lane = |(heard, part)| {
                    scope.spawn(move || Match::replay(part, role, heard, (1, &Watch::default())))
                };
                let lanes: Vec<_> = recorded.iter().map(|(heard, part)| lane((heard, part))).collect();
                lanes
                    .into_iter()
                    .map(|lane| lane.join().map_err(|_| "a part panicked".to_owned())?)
                    .collect::<Result<Vec<_>, String>>()
            })?;
            if role == Role::Receiver {
                drop(split.matches(matches.into_iter().flatten()));
            }
            Ok(())
        })?;
    }
    Ok(())
}
