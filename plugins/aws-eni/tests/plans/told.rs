//! Plans in the words of the worked examples.

use tenure_sdk::{Effect, EffectKind};
use tenure_testkit::{Error, ErrorCode};

use super::world::World;

/// A plan, such as `assign 3 on eni-0, attach 2`; what is released, by interface.
pub(crate) fn told(world: &World, plan: &Result<Vec<Effect>, Error>) -> String {
    let effects = match plan {
        Err(error) if error.code == ErrorCode::PoolExhausted => return "full".into(),
        Err(error) if error.code == ErrorCode::NotYet => return "not yet".into(),
        Err(error) => panic!("{error}"),
        Ok(effects) => effects,
    };
    let mut words: Vec<String> = Vec::new();
    for effect in effects {
        assert!(!effect.attributes.get("reason").unwrap().is_empty(), "each effect has a reason");
        let text = |name| effect.attributes.get(name).unwrap_or_default();
        words.push(match effect.kind {
            EffectKind::AssignAddress => format!("assign {} on {}", text("count"), text("interface")),
            EffectKind::AssignPrefix => format!("assign {} PD on {}", text("count"), text("interface")),
            EffectKind::AttachInterface if text("prefixes").is_empty() => {
                format!("attach {}", text("addresses"))
            }
            EffectKind::AttachInterface => format!("attach {} PD", text("prefixes")),
            EffectKind::DetachInterface => format!("detach {}", text("interface")),
            _ => continue,
        });
    }
    for eni in &world.enis {
        let is_released = |(name, _): &&(String, bool)| {
            effects.iter().any(|effect| effect.attributes.get("range") == Some(name.as_str()))
        };
        match eni.ranges.iter().filter(is_released).count() {
            0 => {}
            count => words.push(format!("release {count} on {}", eni.name)),
        }
    }
    if words.is_empty() { "nothing".into() } else { words.join(", ") }
}
