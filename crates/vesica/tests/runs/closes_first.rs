//! The connection ends before the matches are looked for: its end would tell the partner how long that takes.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use vesica::report::Event;
use vesica::sets::{self, SetJob};
use vesica::settings::Settings;
use vesica_channel::transport::{Control, Result, Transport};
use vesica_channel::{CancelToken, ChannelError, Stream};
use vesica_net::Connection;
use vesica_protocols::Role;

/// Notes when the connection is closed.
struct Noting {
    inner: Arc<dyn Control>,
    closed: Arc<AtomicBool>,
}

impl Control for Noting {
    fn close(&self) {
        self.closed.store(true, Relaxed);
        self.inner.close();
    }
    fn send_now(&self) {
        self.inner.send_now();
    }
    fn check(&self) -> Result<()> {
        self.inner.check()
    }
    fn expect_within(&self, limit: Option<Duration>) {
        self.inner.expect_within(limit);
    }
    fn pause_until(&self, moment: Instant) -> Result<()> {
        self.inner.pause_until(moment)
    }
    fn fail(&self, error: ChannelError) -> ChannelError {
        self.inner.fail(error)
    }
    fn was_declined(&self) -> bool {
        self.inner.was_declined()
    }
    fn cancel_on(&self, token: &CancelToken) {
        self.inner.cancel_on(token);
    }
    fn finish(&self) -> Result<()> {
        self.inner.finish()
    }
}

fn play(role: Role, keys: &[&[u8]], channel: Connection, on_event: &(dyn Fn(&Event) + Sync)) -> Vec<u64> {
    let settings = Settings::default();
    let items = sets::items(keys.iter().copied(), &settings).unwrap();
    let job = SetJob { role, items, settings };
    let rng = &mut vesica::randomness().unwrap();
    let matches = job.run(channel, None, &CancelToken::new(), rng, on_event).result.unwrap().matches;
    matches.map_or(Vec::new(), |matches| matches.rows().to_vec())
}

#[test]
fn the_connection_is_closed_when_the_comparison_begins() {
    let (one, two) = vesica_channel::memory::transports(&CancelToken::new());
    let closed = Arc::new(AtomicBool::new(false));
    let control = Arc::new(Noting { inner: one.control.clone(), closed: closed.clone() });
    let one = Stream::new(Transport { control, ..one });
    let (mine, theirs) = vesica_net::memory::connections((one, Stream::new(two)));
    let phases = Mutex::new(Vec::new());
    let rows = thread::scope(|scope| {
        scope.spawn(|| play(Role::Sender, &[b"zoe", b"eve"], theirs, &|_| {}));
        play(Role::Receiver, &[b"ada", b"eve"], mine, &|event| {
            if let Event::Phase { name, .. } = event {
                phases.lock().unwrap().push((*name, closed.load(Relaxed)));
            }
        })
    });
    assert_eq!(rows, [1]);
    let phases = phases.into_inner().unwrap();
    assert!(phases.contains(&("compare", true)) && !phases.contains(&("compare", false)), "{phases:?}");
    assert!(phases.contains(&("confirm", false)), "{phases:?}");
}
