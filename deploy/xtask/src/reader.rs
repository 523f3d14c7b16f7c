//! The reader's test: what somebody comes to the book for is one click from its front page, and there.

use std::fs;
use std::path::Path;

/// Tasks, and a word that the reader looks for where the link leads.
const TASKS: [(&str, &str); 19] = [
    ("install tenure on a cluster", "helm install"),
    ("upgrade a release", "profile=cluster"),
    ("uninstall it from a cluster", "uninstalling=true"),
    ("know what its containers may do", "capabilities: drop"),
    ("install it", "systemctl enable"),
    ("why a pod has no address", "pool-exhausted"),
    ("why the node is not ready", "state-lost"),
    ("move a node over", "tenurectl import"),
    ("upgrade it", "--check-config"),
    ("remove it", "systemctl disable"),
    ("addresses of AWS interfaces", "aws-iam.md"),
    ("what to alert on", "tenure_pool_held"),
    ("write and test a policy", "tenurectl policy new"),
    ("write a policy in Go", "componentize-py"),
    ("what another policy would have done", "tenurectl policy replay"),
    ("replace a network's policy", "policy activate"),
    ("free an address", "tenurectl repair"),
    ("keep an address for a program", "claim"),
    ("set a key", "cooldown_seconds"),
];

/// The part of a page from a heading on, by its anchor; all of it without one.
fn part(text: &str, anchor: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| {
        let heading = line.trim_start_matches('#');
        !(anchor.is_empty() || line.starts_with('#') && slug(heading) == anchor)
    });
    let heading = lines.next()?;
    let level = heading.chars().take_while(|letter| *letter == '#').count();
    let mut part = String::new();
    for line in lines {
        let marks = line.chars().take_while(|letter| *letter == '#').count();
        // A command in a block is written with one mark, a page's own headings with two or more.
        if !anchor.is_empty() && (2..=level).contains(&marks) {
            break;
        }
        part.push_str(line);
        part.push('\n');
    }
    Some(part)
}

/// A heading's anchor, as mdbook makes it.
fn slug(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
    });
    letters.collect()
}

#[test]
fn each_task_is_one_click_from_the_front_page() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src");
    let front = fs::read_to_string(book.join("introduction.md")).unwrap();
    for (task, word) in TASKS {
        let row = front.lines().find(|line| line.starts_with('|') && line.contains(task));
        let row = row.unwrap_or_else(|| panic!("no row for {task:?}"));
        let link = row.split("](").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
        let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
        let text = fs::read_to_string(book.join(page)).unwrap_or_else(|error| panic!("{link}: {error}"));
        let part = part(&text, anchor).unwrap_or_else(|| panic!("{link} leads nowhere"));
        assert!(part.contains(word), "{task:?}: {link} does not say {word:?}");
    }
}
