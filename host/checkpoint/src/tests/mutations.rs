//! Every class of damage to every file of a state directory: a start finds exactly what was acknowledged, or says that it
//! does not.
//!
//! Each [shape](shapes) of a state directory is damaged in every [way](damage), one at a time, and recovered with the
//! witness that a daemon keeps outside of the directory for the boot. Allowed is:
//!
//! | verdict | meaning |
//! |---|---|
//! | exact | the state that was acknowledged last, and nothing is reported as lost |
//! | refused | an error that names a file, or what was being done |
//! | lost | the witness noticed: the daemon does not serve the state until somebody confirms it |
//!
//! The witness is cleared by a reboot. Without it, what a start would serve for `lost` is an older state, and nothing in
//! the directory can tell: a log that ends with an earlier group was once the whole truth. So `lost` is allowed only for
//! damage to the end of the last segment, and only with a state that was acknowledged at some time.

mod damage;
mod shapes;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use self::damage::Damage;
use self::shapes::Shape;
use super::corpus::disk_of;
use super::fixture::{NOW, Node, boot, everything, options};
use crate::{Error, recover_after};

/// The verdict of a start on a damaged directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Exact,
    Refused,
    Lost,
}

/// How often each class of damage had each verdict.
type Table = BTreeMap<&'static str, BTreeMap<Verdict, usize>>;

/// Recovers a damaged directory, and checks that nothing is passed off as the state.
fn judge(shape: &Shape, damage: &Damage) -> Result<Verdict, String> {
    let disk = disk_of(&damage.files);
    let found = match recover_after(&disk, &boot(shape.boot), NOW, Some(&shape.durable)) {
        Ok(found) => found,
        Err(error) => {
            let words = error.to_string();
            let named =
                error.file().is_some_and(|file| words.contains(file)) || matches!(error, Error::Io { .. });
            return if named {
                Ok(Verdict::Refused)
            } else {
                Err(format!("refused without a name: {words}"))
            };
        }
    };
    let state = everything(&found);
    let is_exact = state == *shape.states.last().unwrap();
    if found.report.lost {
        return match (damage.cuts_end, shape.states.contains(&state)) {
            (true, true) => Ok(Verdict::Lost),
            // An intact end of another history that shares the rest, which only the witness knows not to be this one's.
            (false, _) if damage.class == damage::ANOTHER_END => Ok(Verdict::Lost),
            (false, _) => Err(format!("silent after a reboot: {}", found.report)),
            (true, false) => Err(format!("a state that never was: {}", found.report)),
        };
    }
    if !is_exact {
        return Err(format!("silently another state: {}", found.report));
    }
    if damage.file_level {
        // And it goes on: another start finds what is acknowledged now.
        let mut node = Node::from(options(&disk, shape.boot), found);
        drop(node.define(77));
        node.settle();
        let again = recover_after(&disk, &boot(shape.boot), NOW, None)
            .map_err(|error| format!("afterwards: {error}"))?;
        if everything(&again) != node.memory.everything() {
            return Err("another state afterwards".to_owned());
        }
    }
    Ok(Verdict::Exact)
}

/// How often each class of damage to a shape had each verdict, and what is wrong.
fn tried(shape: &Shape) -> (Table, Vec<String>) {
    let mut table = Table::new();
    let mut wrong = Vec::new();
    damage::each(shape, &mut |damage| match judge(shape, &damage) {
        Ok(verdict) => *table.entry(damage.class).or_default().entry(verdict).or_default() += 1,
        Err(why) => wrong.push(format!("{}, {}: {}: {why}", shape.name, damage.class, damage.what)),
    });
    (table, wrong)
}

#[test]
fn every_damage_to_every_file_is_made_up_for_or_said() {
    let shapes = shapes::all();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = shapes.iter().map(|shape| scope.spawn(move || tried(shape))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = Table::new();
    let mut wrong = Vec::new();
    for (table, of_shape) in results {
        wrong.extend(of_shape);
        for (class, verdicts) in table {
            verdicts.into_iter().for_each(|(verdict, count)| {
                *all.entry(class).or_default().entry(verdict).or_default() += count;
            });
        }
    }
    let mut text = format!("{:<44} {:>7} {:>7} {:>7}\n", "damage", "exact", "refused", "lost");
    for (class, verdicts) in &all {
        let [exact, refused, lost] = [Verdict::Exact, Verdict::Refused, Verdict::Lost]
            .map(|verdict| verdicts.get(&verdict).copied().unwrap_or_default());
        writeln!(text, "{class:<44} {exact:>7} {refused:>7} {lost:>7}").unwrap();
    }
    println!("{text}");
    assert!(
        wrong.is_empty(),
        "{} kinds of damage are silent:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    assert!(all.len() >= 25 && all.values().all(|verdicts| !verdicts.is_empty()), "{}", all.len());
    // Whole classes of which nothing may be silent even after a reboot.
    for class in ["flip a bit", "drop a line before the end", "repeat a line", "swap two lines"] {
        assert!(!all[class].contains_key(&Verdict::Lost), "{class}");
    }
}
