//! Readers: a table from its bytes to items.

use std::io::Write;
use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use vesica_encode::items::{Encoding, Width};
use vesica_table::{Input, KeySpec, Request};

const ROWS: u64 = 1 << 16;

fn readers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reader");
    group.sample_size(20).throughput(Throughput::Elements(ROWS));
    for quote in ["", "\""] {
        let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
        let mut text = "id,email,name,score\n".to_owned();
        for row in 0..ROWS {
            let number = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
            text += &format!("{row},user{number:013}@example.org,{quote}Name {}{quote},7\n", number % 1000);
        }
        assert!(file.write_all(text.as_bytes()).is_ok());
        for rule in ["raw", "email"] {
            let Ok(key) = format!("email:{rule}").parse::<KeySpec>() else { return };
            let request = Request::new(vec![key], Encoding::Digest(Width::Digest128));
            let quoted = if quote.is_empty() { "" } else { ", quotes" };
            group.bench_function(format!("CSV, rule {rule}{quoted}, row"), |b| {
                b.iter(|| {
                    let input = Input::open(file.path());
                    let table = input.map(|input| input.load(&request, &mut |_| ControlFlow::Continue(())));
                    assert!(table.is_ok_and(|table| table.is_ok()));
                });
            });
        }
    }
}

criterion_group!(benches, readers);
criterion_main!(benches);
