//! The manual pages of the daemon, `tenured(8)`, of its configuration, `tenured.toml(5)`, and of the operator, `tenure-operator(8)`: from the
//! programs' help and the book's reference, so that they say the same.

/// The page of a program, from what its `--help` prints.
pub(super) fn program(name: &str, section: u8, summary: &str, help: &str) -> String {
    let help: Vec<_> = help.lines().map(escaped).collect();
    format!(
        "{}.SH NAME\n{name} \\- {}\n.SH DESCRIPTION\n.nf\n{}\n.fi\n",
        head(name, section),
        escaped(summary),
        help.join("\n")
    )
}

/// A page of the book, in the part of Markdown that the generated pages use: headings, tables, lists, code and paragraphs.
pub(super) fn page(name: &str, section: u8, summary: &str, text: &str) -> String {
    let mut page = format!("{}.SH NAME\n{name} \\- {}\n", head(name, section), escaped(summary));
    let mut is_code = false;
    for line in text.lines() {
        let macros = if line.starts_with("```") {
            is_code = !is_code;
            if is_code { ".nf".to_owned() } else { ".fi".to_owned() }
        } else if is_code {
            escaped(line)
        } else if let Some(heading) = line.strip_prefix("## ") {
            format!(".SH {}", words(heading).to_uppercase())
        } else if let Some(heading) = line.strip_prefix("### ") {
            format!(".SS {}", words(heading))
        } else if line.starts_with("# ") || line.starts_with("<!--") || line.starts_with("|---") {
            continue;
        } else if let Some(row) = line.strip_prefix("| ") {
            let cells: Vec<_> = row.trim_end_matches(" |").split(" | ").map(words).collect();
            match cells.split_first() {
                Some((key, rest)) if key.eq_ignore_ascii_case("key") || rest.is_empty() => continue,
                Some((key, rest)) => format!(".TP\n\\fB{key}\\fR\n{}", rest.join("; ")),
                None => continue,
            }
        } else if line.is_empty() {
            ".PP".to_owned()
        } else {
            words(line)
        };
        page.push_str(&macros);
        page.push('\n');
    }
    page
}

fn head(name: &str, section: u8) -> String {
    format!(".TH {} {section} \"\" \"tenure\"\n", name.to_uppercase())
}

/// Text without Markdown's marks: of a link, the words stay, and code stays as it is.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (start, link) = before.rsplit_once('[').unwrap_or(("", before));
        words.extend([start, link]);
        rest = after.split_once(')').map_or("", |(_, behind)| behind);
    }
    words.push_str(rest);
    let parts = words.split('`').enumerate();
    let plain: String = parts
        .map(|(index, part)| if index % 2 == 1 { part.to_owned() } else { part.replace('*', "") })
        .collect();
    escaped(&plain)
}

/// A line in roff: `\` and `-` mean something else, and so does a `.` or `'` at the start.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_book_is_a_page_of_the_manual() {
        let text = "# Reference\n\nSee [the file](a.md#b), `-x`.\n\n## `[addresses]`\n\n| Key | Default | |\n|---|---|---|\n| `cooldown_seconds` | `30` | Seconds. |\n\n```toml\n.x = 1\n```\n";
        let page = page("tenured.toml", 5, "configuration of tenured", text);
        assert_eq!(
            page,
            ".TH TENURED.TOML 5 \"\" \"tenure\"\n.SH NAME\ntenured.toml \\- configuration of tenured\n.PP\nSee the file, \\-x.\n.PP\n.SH [ADDRESSES]\n.PP\n.TP\n\\fBcooldown_seconds\\fR\n30; Seconds.\n.PP\n.nf\n\\&.x = 1\n.fi\n"
        );
        assert_eq!(
            words("**Names** in `kube-system/cilium-*` or `[\"*\"]`, see [`*_seconds`](a.md)"),
            "Names in kube\\-system/cilium\\-* or [\"*\"], see *_seconds"
        );
        let page = program("tenured", 8, "the daemon", "Usage: tenured\n  --x\\y");
        assert!(page.ends_with(".nf\nUsage: tenured\n  \\-\\-x\\ey\n.fi\n"), "{page}");
    }
}
