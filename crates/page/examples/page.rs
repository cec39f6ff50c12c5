//! Makes a page from JSON: `page report|plan|inspection < in.json > out.html`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::io::read_to_string(std::io::stdin())?;
    let html = match std::env::args().nth(1).as_deref() {
        Some("plan") => vesica_page::plan(&text)?,
        Some("inspection") => vesica_page::inspection(&text)?,
        _ => vesica_page::report(&text)?,
    };
    print!("{html}");
    Ok(())
}
