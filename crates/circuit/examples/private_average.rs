//! A circuit of one's own: two firms learn the average of all their salaries, rounded, and neither learns the other's
//! total. Each side runs in a process of its own:
//!
//! ```text
//! private_average listen  127.0.0.1:7401 mine.txt       # the receiver: evaluates
//! private_average connect 127.0.0.1:7401 theirs.txt     # the sender: garbles
//! ```
//!
//! A file has a whole number a line. Semi-honest; both see how many numbers the other has. The connection is plain
//! TCP, which the library allows on this machine only; `ConnectionSecurity::Tls` is for two machines.

use std::error::Error as Failure;

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use vesica_channel::Channel;
use vesica_circuit::gadgets::adder::add;
use vesica_circuit::{Bits, Engine, Error, Input, Opening, Party, bits, yao};
use vesica_crypto::hash::{Context, Label};
use vesica_net::{Address, Connection, ConnectionSecurity, Options, establish};
use vesica_ot::base::Origin;
use vesica_ot::iknp;

/// Bits of a total; those below `ROUNDED` are not opened.
const WIDTH: usize = 64;
const ROUNDED: usize = 7;
const LEVEL: u32 = 128;

// The circuit.
fn total<E: Engine>(engine: &mut E, mine: Input, theirs: Input) -> Result<Option<Vec<Bits>>, Error> {
    let receiver = engine.input(Party::Receiver, mine)?;
    let sender = engine.input(Party::Sender, theirs)?;
    let sum = add(engine, &receiver, &sender)?;
    engine.open(Opening::ToBoth, &sum[ROUNDED..])
}
// The end of the circuit.

/// Garbles or evaluates the circuit with this party's total.
fn run(party: Party, total_of_mine: u64, connection: &mut Connection) -> Result<u128, Box<dyn Failure>> {
    let mut rng = StdRng::try_from_rng(&mut SysRng)?;
    let nonces = connection.nonces();
    let (receiver, sender) = match party {
        Party::Receiver => (nonces.mine, nonces.theirs),
        Party::Sender => (nonces.theirs, nonces.mine),
    };
    // Every hash of the run depends on both nonces and on the connection.
    let session = [&connection.channel_binding()[..], &receiver, &sender].concat();
    let context = Context::new(&[0; 32], "private average", &session, 0, 0);
    let label = Label::new("private average: base OTs");
    let mine = bits::rows(&[total_of_mine.into()], WIDTH);
    let (known, hidden) = (Input::Known(&mine), Input::Hidden { rows: WIDTH, len: 1 });
    let watch: &mut yao::Watch<'_> = &mut |_| Ok(());
    let opened = match party {
        Party::Receiver => {
            let ot = iknp::Receiver::<1>::setup(
                &context,
                label,
                LEVEL,
                Origin::default(),
                &mut **connection,
                &mut rng,
            )?;
            total(&mut yao::Evaluator::new(&context, LEVEL, ot, &mut **connection, watch)?, known, hidden)?
        }
        Party::Sender => {
            let ot = iknp::Sender::<1>::setup(
                &context,
                label,
                LEVEL,
                Origin::default(),
                &mut **connection,
                &mut rng,
            )?;
            let engine = yao::Garbler::new(&context, LEVEL, ot, &mut **connection, watch, &mut rng);
            total(&mut engine?, hidden, known)?
        }
    };
    let rounded = bits::numbers(&opened.ok_or("both learn the total")?);
    Ok(rounded.first().ok_or("one total")? << ROUNDED)
}

fn main() -> Result<(), Box<dyn Failure>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, address, file] = &arguments[..] else {
        return Err("give `listen` or `connect`, an address and a file of numbers".into());
    };
    let text = std::fs::read_to_string(file)?;
    let numbers = text.lines().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    let sum = numbers.iter().try_fold(0u64, |sum, number| sum.checked_add(*number)).ok_or("too large")?;
    let (party, address) = match how.as_str() {
        "listen" => (Party::Receiver, Address::Listen(address.clone())),
        "connect" => (Party::Sender, Address::Connect(address.clone())),
        _ => return Err("the first word is `listen` or `connect`".into()),
    };
    let mut rng = StdRng::try_from_rng(&mut SysRng)?;
    let plain = ConnectionSecurity::InsecurePlaintext;
    let mut connection = establish(&address, &plain, &Options::default(), &mut rng, &mut |_| ())?;
    // The number of salaries is no secret.
    connection.send(&(numbers.len() as u64).to_le_bytes())?;
    let mut theirs = [0; 8];
    connection.recv_exact(&mut theirs)?;
    let count = numbers.len() as u128 + u128::from(u64::from_le_bytes(theirs));
    let total = run(party, sum, &mut connection)?;
    connection.finish(&[])?;
    println!("{count} salaries, on average about {}", total.checked_div(count).unwrap_or(0));
    Ok(())
}
