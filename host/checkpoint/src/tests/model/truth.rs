//! What may be on the disk: for each network every sheet since the last one that somebody was told is durable.

use std::collections::BTreeMap;

use tenure_types::NetworkName;

use super::paper::Paper;

/// How many sheets each network had at some time. One order for all: what is durable makes everything before it durable.
pub(super) type Extent = BTreeMap<NetworkName, usize>;

#[derive(Default)]
pub(super) struct Truth {
    /// The newest sheet is what memory says: nothing, where the network is not there. The first is from before it ever was.
    sheets: BTreeMap<NetworkName, Vec<Option<Paper>>>,
    acknowledged: Extent,
}

impl Truth {
    /// What memory says of a network.
    pub(super) fn newest(&self, name: &NetworkName) -> Option<&Paper> {
        self.sheets.get(name)?.last()?.as_ref()
    }

    /// What memory says of all networks.
    pub(super) fn all_newest(&self) -> BTreeMap<&NetworkName, &Paper> {
        self.sheets.iter().filter_map(|(name, sheets)| Some((name, sheets.last()?.as_ref()?))).collect()
    }

    /// What memory says, to be changed by what is not a fact.
    pub(super) fn all_newest_mut(&mut self) -> impl Iterator<Item = &mut Paper> {
        self.sheets.values_mut().filter_map(|sheets| sheets.last_mut()?.as_mut())
    }

    /// Notes what a group has made of a network.
    pub(super) fn note(&mut self, name: &NetworkName, paper: Option<Paper>) {
        self.sheets.entry(name.clone()).or_insert_with(|| vec![None]).push(paper);
    }

    pub(super) fn extent(&self) -> Extent {
        self.sheets.iter().map(|(name, sheets)| (name.clone(), sheets.len())).collect()
    }

    /// Somebody was told that everything up to there is durable.
    pub(super) fn acknowledge(&mut self, extent: &Extent) {
        for (name, count) in extent {
            let known = self.acknowledged.entry(name.clone()).or_default();
            *known = (*known).max(*count);
        }
    }

    /// Checks that what was found is, for each network, a sheet not older than what was acknowledged. Returns which.
    pub(super) fn check(
        &self,
        found: &BTreeMap<NetworkName, Paper>,
        may_be: impl Fn(&Paper, &Paper) -> bool,
    ) -> Extent {
        let unknown = found.keys().find(|name| !self.sheets.contains_key(*name));
        assert_eq!(unknown, None, "it comes from nowhere");
        let which = |(name, sheets): (&NetworkName, &Vec<Option<Paper>>)| {
            let found = found.get(name);
            let acknowledged = self.acknowledged.get(name).map_or(0, |count| count - 1);
            let is = |sheet: &Option<Paper>| match (sheet, found) {
                (Some(paper), Some(found)) => may_be(paper, found),
                (sheet, found) => sheet.is_none() && found.is_none(),
            };
            let at = (acknowledged..sheets.len()).rev().find(|at| is(&sheets[*at]));
            let Some(at) = at else {
                panic!("{name} is found as {found:#?}, and may only be {:#?}", &sheets[acknowledged..])
            };
            (name.clone(), at + 1)
        };
        self.sheets.iter().map(which).collect()
    }

    /// Goes on from what a start has found, which is of this extent.
    pub(super) fn go_on(&mut self, mut found: BTreeMap<NetworkName, Paper>, extent: &Extent) {
        for (name, sheets) in &mut self.sheets {
            sheets.truncate(extent[name]);
            // A boot may have changed it without a fact.
            sheets.push(found.remove(name));
        }
    }
}
