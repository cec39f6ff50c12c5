//! Reports, plans and inspected tables as pages for a person: two real processes and their files.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use serde_json::Value;

use crate::common::{LOCAL, RECEIVER, SENDER, Scene, nothing_lost, scene, with};

/// The JSON that a page holds.
fn data(page: &str, id: &str) -> Value {
    let (_, data) = page.split_once(&format!("<script type=\"application/json\" id=\"{id}\">")).unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// A page that loads nothing, runs nothing and holds no identifier.
fn page(scene: &Scene, name: &str, id: &str) -> (String, Value) {
    let page = scene.read(name);
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("content=\"default-src &#39;none&#39;; style-src &#39;sha256-"), "{page}");
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    for absent in ["http:", "https:", "@import", " src=", " href=", "url(h", "erson", "xample.org"] {
        assert!(!page.contains(absent), "{absent}: {page}");
    }
    let data = data(&page, id);
    (page, data)
}

#[test]
fn both_sides_of_a_run_have_a_page() {
    let scene = scene(100);
    let (receiver, sender) = scene
        .pair(&with(&SENDER, &["--report", "sent.html"]), &with(&RECEIVER, &["--report", "received.HTML"]));
    receiver.expect(0, &[]);
    sender.expect(0, &[]);
    let (received, mine) = page(&scene, "received.HTML", "vesica-report");
    for said in ["50 of 100 rows match", "Confirmed by both sides", "Report of the receiver", "true to scale"]
    {
        assert!(received.contains(said), "{said}: {received}");
    }
    let (sent, theirs) = page(&scene, "sent.html", "vesica-report");
    for said in ["The run is complete", "Report of the sender", "not to scale"] {
        assert!(sent.contains(said), "{said}: {sent}");
    }
    assert_eq!((&mine["session"], &mine["outcome"]), (&theirs["session"], &"done".into()));
    assert_eq!(mine["transcript"]["sent"], theirs["transcript"]["received"]);
    assert_eq!((&mine["matches"]["rows"], &theirs["matches"]), (&50.into(), &Value::Null));
}

#[test]
fn a_run_that_fails_has_a_page_and_none_is_replaced() {
    let scene = scene(3);
    let report = with(&RECEIVER, &["--report", "run.html", "--deadline", "2s"]);
    let end = scene.receiver("127.0.0.1:9", &report).end();
    end.expect(75, &[]);
    let (failed, data) = page(&scene, "run.html", "vesica-report");
    assert!(failed.contains("The run failed") && failed.contains("What to do"), "{failed}");
    assert_eq!(data["outcome"], "failed");
    nothing_lost(&scene, &[&end]);
    let local = with(&LOCAL, &["--output", "-", "--report", "run.html"]);
    scene.run(&local).expect(64, &["is there already, and is not replaced"]);
    assert_eq!(scene.read("run.html"), failed);
}

#[test]
fn names_of_columns_are_words_on_a_page() {
    let scene = Scene::new();
    let column = "</script><b>\u{202e}";
    for (file, rows) in [("receiver.csv", "a,1\nb,2\n"), ("sender.csv", "b,3\nc,2\n")] {
        scene.write(file, format!("{column},<!--\n{rows}"));
    }
    let rules = [format!("{column}:raw"), "<!--:raw".to_owned()];
    let tables = ["local", "--receiver", "receiver.csv", "--sender", "sender.csv", "--output", "out.csv"];
    let more = ["--match", &rules[0], "--match", &rules[1], "--report", "run.html"];
    scene.run(&with(&tables, &more)).expect(0, &[]);
    scene.run(&["inspect", "receiver.csv", "--key", &rules[0], "--output", "table.html"]).expect(0, &[]);
    for (name, id) in [("run.html", "vesica-report"), ("table.html", "vesica-inspection")] {
        let (page, data) = page(&scene, name, id);
        let words = page.split("<script").next().unwrap();
        assert!(words.contains("&#60;/script&#62;&#60;b&#62;\\u{202e}"), "{words}");
        assert!(
            !words.contains(['\u{202e}']) && !words.contains("<b>") && !words.contains("<!--"),
            "{words}"
        );
        assert!(data.to_string().contains(column), "{data}");
    }
}

#[test]
fn plans_and_inspected_tables_are_pages_or_json_by_the_ending() {
    let scene = scene(200);
    let plan = ["plan", "--receiver", "2^16", "--sender", "2^16"];
    let inspect = ["inspect", "receiver.csv", "--key", "email:email"];
    for (command, id, said) in [
        (&plan[..], "vesica-plan", "The protocols that could be taken"),
        (&inspect[..], "vesica-inspection", "200 different keys"),
    ] {
        let written = scene.run(&with(command, &["--output", "it.html"]));
        written.expect(0, &[]);
        assert_eq!(written.stdout, b"");
        let (html, data) = page(&scene, "it.html", id);
        assert!(html.contains(said), "{said}: {html}");
        scene.run(&with(command, &["--output", "it.json"])).expect(0, &[]);
        let printed = scene.run(&with(command, &["--json"])).stdout;
        assert_eq!(scene.read("it.json").as_bytes(), printed);
        assert_eq!(serde_json::from_slice::<Value>(&printed).unwrap(), data);
        for taken in ["it.html", "it.json"] {
            scene
                .run(&with(command, &["--output", taken]))
                .expect(64, &["is there already, and is not replaced"]);
        }
        scene
            .run(&with(command, &["--output", "it.pdf"]))
            .expect(64, &["is of another format", "`.html` for a page"]);
        assert!(!scene.exists("it.pdf"));
        for name in ["it.html", "it.json"] {
            std::fs::remove_file(scene.path(name)).unwrap();
        }
    }
    let table = scene.read("receiver.csv");
    scene.run(&with(&inspect, &["--output", "receiver.csv"])).expect(74, &["name another file"]);
    assert_eq!(scene.read("receiver.csv"), table);
}
