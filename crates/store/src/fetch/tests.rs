#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where something is not as it must be"
)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use super::*;

fn object(key: &str) -> ObjectMeta {
    let last_modified = std::time::SystemTime::UNIX_EPOCH.into();
    ObjectMeta { location: Key::parse(key).unwrap(), last_modified, size: 1, e_tag: None, version: None }
}

fn keys(chosen: Result<Vec<ObjectMeta>, StoreError>) -> Vec<String> {
    chosen.unwrap().iter().map(|object| object.location.to_string()).collect()
}

#[test]
fn a_folder_is_its_files_and_no_other_ones() {
    let key = |key: &&str| Key::parse(key).unwrap();
    let folder = |keys: &[&str], folders: &[&str]| {
        let folders: Vec<Key> = folders.iter().map(key).collect();
        in_folder(keys.iter().map(|key| object(key)).collect(), &folders, &Key::parse("in").unwrap())
    };
    // The folder itself, and notes.
    let there = ["in/b.csv", "in", "in/a.csv", "in/_SUCCESS", "in/a.csv.crc"];
    assert_eq!(keys(folder(&there, &["in/.tmp"])), ["in/a.csv", "in/b.csv"]);
    for (folders, why) in [
        ("in/day=1", "the rows of one value of a column"),
        ("in/deep", "no file"),
        ("in/_delta_log", "Delta"),
        ("in/.hoodie", "Hudi"),
    ] {
        let error = folder(&["in/a.csv"], &[folders]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_pattern_is_what_matches_it() {
    let chosen = |pattern: &str, keys: &[&str]| {
        let address = Address::of(Path::new(&format!("s3://b/{pattern}"))).unwrap().unwrap();
        let (pattern, folder) = address.pattern().unwrap().unwrap();
        matching(keys.iter().map(|key| object(key)).collect(), &[], &pattern, &folder)
    };
    let there = ["in/x2.csv", "in/x10.csv", "in/_x.csv", "in/deep/x.csv", "in/x.txt"];
    assert_eq!(keys(chosen("in/*.csv", &there)), ["in/x10.csv", "in/x2.csv"]);
    assert_eq!(keys(chosen("in/*/x.csv", &there)), ["in/deep/x.csv"]);
    assert_eq!(keys(chosen("in/x?.csv", &there)), ["in/x2.csv"]);
    assert!(keys(chosen("out/*", &there)).is_empty());
    // An object for a folder is none of its files; an empty file is told from it.
    let listed = ["in", "in/deep", "in/deep/x.csv", "in/deep-x.csv"]
        .map(|key| ObjectMeta { size: u64::from(key.ends_with("x.csv")), ..object(key) });
    let (pattern, folder) = (Pattern::new("in/**").unwrap(), Key::parse("in").unwrap());
    assert_eq!(keys(matching(listed.to_vec(), &[], &pattern, &folder)), ["in/deep-x.csv", "in/deep/x.csv"]);
    let empty = ObjectMeta { size: 0, ..object("in/empty.csv") };
    assert_eq!(keys(matching(vec![empty], &[], &pattern, &folder)), ["in/empty.csv"]);
    // A log beside other files says nothing of these.
    let there = ["a/x.csv", "b/_delta_log/0.json", "b/x.csv"];
    assert_eq!(keys(chosen("a/*.csv", &there)), ["a/x.csv"]);
    assert!(chosen("*/x.csv", &there).unwrap_err().to_string().contains("Delta"));
    // Of one folder, only the names of those in it are known.
    let pattern = Pattern::new("b/*.csv").unwrap();
    let logs = [Key::parse("b/_delta_log").unwrap()];
    let beside = matching(vec![object("b/x.csv")], &logs, &pattern, &Key::parse("b").unwrap());
    assert!(beside.unwrap_err().to_string().contains("Delta"));
}

/// A server that gives this answer to its first request.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        stream.write_all(answer.as_bytes()).unwrap();
    });
    format!("http://{address}/dir/a.csv?signature=secret")
}

fn fetched(url: &str, stop: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<Vec<u8>, StoreError> {
    let address = Address::of(Path::new(url)).unwrap().unwrap();
    let found = Found::at(&address, &mut || ControlFlow::Continue(()))?;
    let mut objects = found.fetch(stop)?;
    assert!(objects[0].name.ends_with("/dir/a.csv"), "{}", objects[0].name);
    let mut bytes = Vec::new();
    objects[0].file.read_to_end(&mut bytes).unwrap();
    Ok(bytes)
}

#[test]
fn a_file_of_the_web_is_fetched_whole_or_not_at_all() {
    let go = &mut |_, _| ControlFlow::Continue(());
    let whole = server("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nid\n1");
    assert_eq!(fetched(&whole, go).unwrap(), b"id\n1");
    for (answer, why) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nid\n1", "connection broke"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "no such object"),
        (
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 38\r\n\r\n<Message>/a?signature=secret</Message>",
            "refuses access (403 Forbidden)",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nid\n1", "does not say how long"),
    ] {
        let error = fetched(&server(answer), go).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_server_that_is_elsewhere_is_not_told_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("http://{}/b.csv", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nid\n1").unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {other}\r\nContent-Length: 0\r\n\r\n");
    let url = server(Box::leak(answer.into_boxed_str()));
    assert_eq!(fetched(&url, &mut |_, _| ControlFlow::Continue(())).unwrap(), b"id\n1");
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("GET /b.csv") && !asked.contains("secret"), "{asked}");
}

#[test]
fn who_waits_for_a_silent_server_can_stop() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a.csv", listener.local_addr().unwrap());
    let mut asked = 0;
    let stop = &mut |_, _| {
        asked += 1;
        if asked == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(matches!(fetched(&url, stop), Err(StoreError::Cancelled)));
}
