//! The reader's test: what somebody comes to the book for is one click from its front page, and there.

use std::fs;
use std::path::Path;

/// Tasks, and a word that the reader looks for where the link leads.
const TASKS: [(&str, &str); 20] = [
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
    ("test a policy that plans", "plan -> request-block"),
    ("write a policy in Go", "componentize-py"),
    ("what another policy would have done", "tenurectl policy replay"),
    ("replace a network's policy", "policy activate"),
    ("free an address", "tenurectl repair"),
    ("keep an address for a program", "claim"),
    ("set a key", "cooldown_seconds"),
];

/// Figures of the README, and where the run that the book shows has them.
const FIGURES: [(&str, &str); 10] = [
    ("an ADD, from exec to exit, p50 | 1.06 ms", "ADD 1056 us"),
    ("`/bin/true` 0.90 ms", "/bin/true 903 us"),
    ("`host-local` 2.97 ms", "host-local 2967 us"),
    ("60,000 addresses allocated | 1.07 ms", "ADD 1072 us"),
    ("32 concurrent ADDs | 2,920/s", "ADD 2920/s"),
    ("`/bin/true` 2,247/s, `host-local` 453/s", "/bin/true 2247/s, host-local 453/s"),
    ("64 in flight | 17,195/s", "64 in flight, durable | 17195/s"),
    ("in a fresh sandbox | 12.5 us", "fresh instance, p50 | 12.5 us"),
    ("to the first ADD | 0.21 s", "to the first ADD, 100000 allocations | 0.21 s"),
    ("allocations | 63 and 451 MB", "RSS, 1000000 allocations | 450.50 MB"),
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

#[test]
fn the_figures_of_the_readme_are_those_of_the_run_that_the_book_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let (readme, run) = (read("README.md"), read("deploy/book/src/performance/run.md"));
    for (shown, measured) in FIGURES {
        assert!(readme.contains(shown), "the README does not say {shown:?}");
        assert!(
            run.contains(measured),
            "the run does not say {measured:?}: write the README's {shown:?} again"
        );
    }
}
