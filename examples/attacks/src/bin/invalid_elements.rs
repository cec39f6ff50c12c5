//! Prints how each protocol on groups answers encodings that are not valid.

use vesica_attacks::invalid_elements;

fn main() {
    let refusals = invalid_elements::send_all();
    refusals.iter().for_each(|refusal| println!("{refusal}"));
    let refused = refusals.iter().filter(|refusal| refusal.is_right()).count();
    println!("{refused} of {} refused. The cheater learnt nothing.", refusals.len());
}
