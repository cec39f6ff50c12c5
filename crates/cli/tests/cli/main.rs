//! The program as its users run it: real processes, their files, screens and exit codes. It is one test program, so that
//! what the tests are built from is linked once: `cargo test --test cli documents::` runs the tests of one file.

#[path = "../common/mod.rs"]
mod common;

mod allowance;
mod assist;
mod audit;
mod base_ots;
mod bench;
mod dependencies;
mod dialects;
mod documents;
mod endings;
mod faults;
mod floors;
mod folders;
mod forms;
mod kept_cheats;
mod kept_refusals;
mod kept_server;
mod kept_sets;
mod ledger;
mod main_job;
mod match_rules;
mod meeting;
mod memory;
mod outputs;
mod packages;
mod pages;
mod parts;
mod plan;
mod post;
mod post_quantum;
mod profile;
mod python_options;
mod receipts;
mod relay;
mod relay_parts;
mod results;
mod run_file;
mod tables;
mod tampering;
mod words;
