//! The possible contents of the disk: for each network, every sheet since the last acknowledged one.

use std::collections::BTreeMap;

use tenure_types::NetworkName;

use super::paper::Paper;

/// How many sheets each network had at some time. All networks share one order: what is durable makes everything
/// before it durable.
pub(super) type Extent = BTreeMap<NetworkName, usize>;

#[derive(Default)]
pub(super) struct Truth {
    /// The newest sheet is the state in memory, `None` if the network does not exist. The first is from before it was
    /// ever defined.
    sheets: BTreeMap<NetworkName, Vec<Option<Paper>>>,
    acknowledged: Extent,
}

impl Truth {
    /// The state of a network in memory.
    pub(super) fn newest(&self, name: &NetworkName) -> Option<&Paper> {
        self.sheets.get(name)?.last()?.as_ref()
    }

    /// The state of all networks in memory.
    pub(super) fn all_newest(&self) -> BTreeMap<&NetworkName, &Paper> {
        self.sheets.iter().filter_map(|(name, sheets)| Some((name, sheets.last()?.as_ref()?))).collect()
    }

    /// The state in memory, to be changed by something that is not a fact.
    pub(super) fn all_newest_mut(&mut self) -> impl Iterator<Item = &mut Paper> {
        self.sheets.values_mut().filter_map(|sheets| sheets.last_mut()?.as_mut())
    }

    /// Notes what a group changed in a network.
    pub(super) fn note(&mut self, name: &NetworkName, paper: Option<Paper>) {
        self.sheets.entry(name.clone()).or_insert_with(|| vec![None]).push(paper);
    }

    pub(super) fn extent(&self) -> Extent {
        self.sheets.iter().map(|(name, sheets)| (name.clone(), sheets.len())).collect()
    }

    /// Notes that everything up to this extent was acknowledged as durable.
    pub(super) fn acknowledge(&mut self, extent: &Extent) {
        for (name, count) in extent {
            let known = self.acknowledged.entry(name.clone()).or_default();
            *known = (*known).max(*count);
        }
    }

    /// Checks that each network that was found equals a sheet not older than the acknowledged one. Returns which one.
    pub(super) fn check(
        &self,
        found: &BTreeMap<NetworkName, Paper>,
        may_be: impl Fn(&Paper, &Paper) -> bool,
    ) -> Extent {
        let unknown = found.keys().find(|name| !self.sheets.contains_key(*name));
        assert_eq!(unknown, None, "it was never defined");
        let which = |(name, sheets): (&NetworkName, &Vec<Option<Paper>>)| {
            let found = found.get(name);
            let acknowledged = self.acknowledged.get(name).map_or(0, |count| count - 1);
            let is = |sheet: &Option<Paper>| match (sheet, found) {
                (Some(paper), Some(found)) => may_be(paper, found),
                (sheet, found) => sheet.is_none() && found.is_none(),
            };
            let at = (acknowledged..sheets.len()).rev().find(|at| is(&sheets[*at]));
            let Some(at) = at else {
                panic!("found {name} as {found:#?}, expected one of {:#?}", &sheets[acknowledged..])
            };
            (name.clone(), at + 1)
        };
        self.sheets.iter().map(which).collect()
    }

    /// Continues from what a start has found, which is of this extent.
    pub(super) fn go_on(&mut self, mut found: BTreeMap<NetworkName, Paper>, extent: &Extent) {
        for (name, sheets) in &mut self.sheets {
            sheets.truncate(extent[name]);
            // A boot may have changed it without a fact.
            sheets.push(found.remove(name));
        }
    }
}
