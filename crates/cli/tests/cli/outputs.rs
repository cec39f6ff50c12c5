//! Outputs that cannot be written as others are: each is written, or refused before the partner is met.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;
use std::sync::Arc;
use std::{fs, io};

use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::common::{Ended, LOCAL, RECEIVER, SENDER, Scene, plain_join, scene, with};

/// The program in namespaces of its own, started by a shell that runs this first.
fn apart(scene: &Scene, script: &str, args: &[&str]) -> Option<Ended> {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this system gives no namespaces");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &format!("{script} exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_vesica")]);
    Some(scene.start_as(command, args).end())
}

fn expected(scene: &Scene) -> String {
    plain_join(&scene.read("receiver.csv"), &scene.read("sender.csv"))
}

#[test]
fn an_output_that_is_a_mount_point_is_written_through() {
    let scene = scene(30);
    scene.write("host.csv", "from another day, and longer than all rows together\n".repeat(100));
    scene.write("out.csv", "");
    let mount = "mount --bind host.csv out.csv &&";
    let Some(ended) = apart(&scene, mount, &with(&LOCAL, &["--output", "out.csv"])) else { return };
    ended.expect(0, &[]);
    assert_eq!(scene.read("host.csv"), expected(&scene));
    assert_eq!(scene.read("out.csv"), "");
    // As in a container whose folder is read-only; the rows wait in TMPDIR.
    scene.write("host.csv", "");
    let read_only = "mount --bind host.csv out.csv && mount --bind . /mnt && \
                     mount -o remount,bind,ro /mnt && mount --bind out.csv /mnt/out.csv && ";
    let args = with(&LOCAL, &["--output", "/mnt/out.csv"]);
    apart(&scene, read_only, &args).unwrap().expect(0, &[]);
    assert_eq!(scene.read("host.csv"), expected(&scene));
}

#[test]
fn somebody_elses_file_in_a_sticky_folder_is_refused_before_the_partner_is_met() {
    let scene = scene(30);
    let (folder, file) = (scene.path("shared"), scene.path("shared/out.csv"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "theirs").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let given = chown(&file, Some(4322), None).and_then(|()| chown(&folder, Some(4321), None));
    if given.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        eprintln!("skipped: this user cannot give files away");
        return;
    }
    given.unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    let args = with(&LOCAL, &["--output", "shared/out.csv"]);
    let Some(ended) = apart(&scene, "", &args) else { return };
    ended.expect(74, &["prepare", "shared/out.csv", "sticky", "in a folder of your own"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
}

#[test]
fn rows_for_a_stream_without_temporary_space_are_refused_before_the_partner_is_met() {
    let scene = scene(30);
    let shell = |script: &str, args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_vesica")]);
        scene.start_as(command, args).end()
    };
    let nowhere = "TMPDIR=/nowhere exec \"$0\" \"$@\"";
    shell(nowhere, &with(&LOCAL, &["--output", "-"])).expect(74, &["prepare", "/nowhere", "TMPDIR"]);
    // A file needs none, and a count is no table.
    shell(nowhere, &with(&LOCAL, &["--output", "out.csv"])).expect(0, &[]);
    let count = ["--output", "-", "--result", "count", "--security", "semi-honest"];
    shell(nowhere, &with(&LOCAL, &count)).expect(0, &[]);
}

/// A table of e-mail addresses with a time stamp of INT96 that no number of 64 bits holds.
fn unwritable(text: &str) -> Vec<u8> {
    let message = "message m { required binary email (UTF8); required int96 until; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, WriterProperties::new().into()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mails: Vec<_> = text
        .lines()
        .skip(1)
        .map(|line| ByteArray::from(line.split_once(',').unwrap().1.as_bytes().to_vec()))
        .collect();
    let mut moment = Int96::new();
    moment.set_data(1, 0, 2_440_588 + 2_932_896);
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&mails, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&vec![moment; mails.len()], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn rows_that_cannot_be_copied_are_refused_before_the_partner_is_met() {
    let scene = scene(30);
    for side in ["receiver", "sender"] {
        scene.write(&format!("{side}.parquet"), unwritable(&scene.read(&format!("{side}.csv"))));
    }
    let receiver = with(&RECEIVER, &["--input", "receiver.parquet"]);
    let receiver = [&receiver[2..4], &["--input", "receiver.parquet", "--output", "out.parquet"]].concat();
    // Nobody listens there: the run does not get so far.
    let ended = scene.receiver("127.0.0.1:1", &receiver).end();
    ended.expect(65, &["read", "column `until`", "INT96", "the partner has not been contacted"]);
    assert!(!scene.exists("out.parquet"));
    // A sender's rows stay where they are.
    let sender = [&SENDER[2..4], &["--input", "sender.parquet"]].concat();
    let (receiver, sender) = scene.pair(&sender, &RECEIVER);
    receiver.expect(0, &[]);
    sender.expect(0, &[]);
    assert_eq!(scene.read("out.csv"), expected(&scene));
}
