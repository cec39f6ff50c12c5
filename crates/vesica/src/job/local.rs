//! Both parties in one process: the real protocol over a channel in memory, for `vesica local` and notebooks.

use std::thread;

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_net::{Connection, memory};
use vesica_protocols::Role;
use vesica_table::Delimiter;
use vesica_text::Audience;

use crate::job::assist;
use crate::job::{Ended, Job, OnEvent, TableArgs};
use crate::session::card::Opening;
use crate::session::helper_link::HelperLink;
use crate::session::links::InMemory;
use crate::session::local_state::LocalState;
use crate::session::met::Met;
use crate::words::error::{Error, Kind, RunPhase, Side};
use crate::words::memory::Budget;
use crate::words::registry::{self, Entry};
use crate::words::report::Report;
use crate::words::settings::{Choice, Settings};

/// Runs the protocol between two tables on this machine. The events are the receiver's.
///
/// Each party gets half of the threads and randomness of its own.
pub fn run(
    receiver: TableArgs,
    sender: TableArgs,
    settings: &Settings,
    cancel: &CancelToken,
    rngs: [&mut (dyn CryptoRng + Send); 2],
    on_event: OnEvent<'_>,
) -> (Ended, Ended) {
    // Both parties share the memory of this process.
    let memory = settings.memory.or_else(Budget::usual).map(|budget| Budget { parties: 2, ..budget });
    let settings = Settings { threads: settings.threads().div_ceil(2), memory, ..settings.clone() };
    let (mine, theirs) = memory::pair(cancel);
    let (my_links, their_links) = InMemory::pair();
    let (mine, theirs) = (met(mine, my_links), met(theirs, their_links));
    let helped = matches!(&settings.protocol, Choice::Named(name) if registry::find(name).is_some_and(Entry::has_helper));
    let links = helped.then(|| [memory::pair(cancel), memory::pair(cancel)]);
    let (helper, my_helper, their_helper) = match links {
        Some([(to_me, mine), (to_them, theirs)]) => (Some([to_me, to_them]), here(mine), here(theirs)),
        None => (None, HelperLink::None, HelperLink::None),
    };
    let [my_rng, their_rng] = rngs;
    // Both parties share the card, too.
    let card = Opening::for_run(&settings);
    let their_card = card.clone();
    let delimiters = [&receiver, &sender].map(|table| table.dialect.delimiter.unwrap_or(Delimiter::COMMA));
    let job = |role, table| Job { role, table, settings: settings.clone() };
    let (receiver, sender) = (job(Role::Receiver, receiver), job(Role::Sender, sender));
    thread::scope(|scope| {
        let body =
            move || {
                let pair =
                    LocalState { helper: their_helper, card: Some(their_card), ..LocalState::default() };
                sender.run_over(pair, cancel, their_rng, &|_| {}, |_, greeting, _, _| {
                    Ok(theirs.greeted(greeting))
                })
            };
        let sender = match thread::Builder::new().spawn_scoped(scope, body) {
            Ok(sender) => sender,
            Err(error) => {
                let error = Error::resources(RunPhase::Prepare, "cannot start a thread", &error);
                let refused = || receiver.refuse(error.clone(), on_event);
                return (refused(), refused());
            }
        };
        let helper = helper.map(|parties| {
            let settings = settings.clone();
            let body = move || assist::between(parties, &settings, cancel, &|_| {});
            thread::Builder::new().spawn_scoped(scope, body)
        });
        if let Some(Err(error)) = &helper {
            // Both parties end by themselves: the connections to the helper are gone.
            drop(Error::resources(RunPhase::Prepare, "cannot start a thread", error));
        }
        let pair = LocalState { helper: my_helper, card: Some(card), ..LocalState::default() };
        let mut outcome =
            receiver.run_over(pair, cancel, my_rng, on_event, |_, greeting, _, _| Ok(mine.greeted(greeting)));
        let mut sender = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        name_both_delimiters([&mut outcome, &mut sender], delimiters);
        (outcome, sender)
    })
}

fn here(helper: Connection) -> HelperLink {
    HelperLink::Here(Box::new(helper))
}

fn met(channel: Connection, links: InMemory) -> Met {
    Met { channel, links: Some(Box::new(links)) }
}

/// One table seems to have another delimiter than it was read with. The option has one value for both tables, so an error
/// that names it names it for both of them, unless it is the same.
fn name_both_delimiters(ends: [&mut Ended; 2], read_with: [Delimiter; 2]) {
    const OPTION: &str = "delimiter";
    let values = [0, 1].map(|side| {
        let error = ends[side].result.as_ref().err();
        let asked = error.and_then(|error| error.message.value_of(OPTION)).map(str::to_owned);
        asked.unwrap_or_else(|| read_with[side].to_string()).trim_matches('\'').to_owned()
    });
    if values[0] == values[1] {
        return;
    }
    for end in ends {
        for error in end.result.as_mut().err().into_iter().chain(&mut end.report.error) {
            error.message.set_pair(OPTION, &values);
        }
    }
}

/// The outcome to report: the receiver's, unless the sender knows the cause. Of a sender that failed the receiver only sees a
/// closed connection.
pub fn combined(receiver: Ended, sender: Ended) -> Ended {
    match (&receiver.result, &sender.result) {
        (Err(seen), Err(cause)) if seen.kind == Kind::Partner || seen.side == Side::Partner => {
            alone(cause.clone(), receiver.report)
        }
        (Err(cause), _) => alone(cause.clone(), receiver.report),
        _ => receiver,
    }
}

/// The end of a run that failed, in words for a person without a partner.
fn alone(error: Error, report: Report) -> Ended {
    let error = Error { side: Side::Ours, ..error.told(Audience::One) };
    Ended { report: Report { error: Some(error.clone()), ..report }, result: Err(error) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::deadline::Deadline;
    use crate::session::reporter::Reporter;

    #[test]
    fn a_deadline_speaks_of_no_partner_to_one_person() {
        let cancel = CancelToken::new();
        let deadline = Deadline::start(Some(Duration::from_millis(1)), &cancel).unwrap();
        while !deadline.cancel().is_cancelled() {
            thread::yield_now();
        }
        for phase in [RunPhase::Read, RunPhase::Protocol(vesica_protocols::Phase::Exchange), RunPhase::Write]
        {
            let error = deadline.explain(Error::interrupted(phase));
            assert!(error.message.shell().contains("`--deadline`"), "{error}");
            let reporter = Reporter::new(Role::Receiver, &Settings::default(), &cancel, &|_| {});
            let report = reporter.end(Err(error.clone())).report;
            let shown = alone(error, report).result.err().unwrap().to_string();
            assert!(!shown.contains("partner") && !shown.contains("both sides"), "{shown}");
        }
    }
}
