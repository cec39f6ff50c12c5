//! What the loops over the registry do not see.

use super::*;
use vesica_protocols::Parameters;
use vesica_protocols::testing::{DIRECTIONS, Tampering, Target, wiped};

fn parameters(form: Form) -> Parameters {
    Parameters { security: Security::Malicious, variant: form.variant(), ..Parameters::default() }
}

#[test]
fn sizes_are_those_of_the_paper() {
    let sizes = Sizes { receiver: 1 << 12, sender: 1 << 10 };
    for (form, n) in [(Form::Published, 1 << 12), (Form::Random, 1 << 12)] {
        let shape = Shape { parameters: parameters(form), ..Shape::new(sizes) };
        // m = 2kn.
        assert_eq!(slots(&shape), 2 * 128 * n);
    }
    let shape =
        Shape { parameters: parameters(Form::Random), ..Shape::new(Sizes { receiver: 3, sender: 100 }) };
    assert_eq!(slots(&shape), 2 * 128 * 3);
}

#[test]
fn more_items_than_there_are_points_are_refused() {
    let sizes = Sizes { receiver: (1 << 22) + 1, sender: 1 };
    let run = ENTRY.run(&[1; 32], sizes, parameters(Form::Published));
    assert!(matches!(Agreed::of(&run), Err(Error::Misuse(Misuse::TooManyItems { .. }))));
    let sizes = Sizes { receiver: 1 << 22, sender: 1 << 22 };
    assert!(Agreed::of(&ENTRY.run(&[1; 32], sizes, parameters(Form::Published))).is_ok());
}

#[test]
fn rows_and_shares_are_wiped_where_a_run_breaks_off() {
    for form in [Form::Published, Form::Random] {
        let honest = wiped::run(&ENTRY, parameters(form), None);
        // Rows, shares, and a slice or more.
        let m = 256 * 200;
        for (well, wiped) in honest.parties {
            assert!(well && wiped > 2 * m * Block::BYTES, "{form:?}: {wiped}");
        }
        let (direction, frame) = (DIRECTIONS[1], honest.frames[1] - 1);
        let target = Target { direction, frame, tampering: Tampering::Drop };
        let [(well, wiped), _] = wiped::run(&ENTRY, parameters(form), Some(target)).parties;
        assert!(!well && wiped > 2 * m * Block::BYTES, "{form:?}: {wiped}");
    }
}
