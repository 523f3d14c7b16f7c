//! Pages of Describe: `MaxResults` and `NextToken`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::parameters::Parameters;
use crate::state::Refusal;

/// The fewest results that a caller may ask for.
const FEWEST: usize = 5;

/// The results that a call without pages may have.
const UNPAGED: usize = 1000;

/// The page that a caller asks for.
#[derive(Debug)]
pub(super) struct Paging {
    size: Option<usize>,
    /// Only results behind this one.
    after: Option<String>,
    /// A hash of the other parameters: a token is valid only with the same ones.
    question: u64,
}

/// The first parts of the parameters that name single items.
const IDS: [&str; 4] = ["InstanceId.", "InstanceType.", "NetworkInterfaceId.", "SubnetId"];

/// Whether a call describes without naming items, and has no filter or no pages.
pub(super) fn is_wide(form: &BTreeMap<String, String>) -> bool {
    let has = |beginning: &str| form.keys().any(|name| name.starts_with(beginning));
    !(IDS.into_iter().any(has) || has("Filter.") && has("MaxResults"))
}

impl Paging {
    /// Takes the parameters, before all others; `most` results fit on a page. With identifiers, there are no pages.
    pub(super) fn take(parameters: &mut Parameters, most: usize, ids: &str) -> Result<Self, Refusal> {
        let size: Option<usize> = parameters.value("MaxResults")?;
        let token = parameters.text("NextToken");
        if size.is_some() && parameters.has_list(ids) {
            let message = format!("The parameter {ids} cannot be used with the parameter MaxResults");
            return Err(Refusal::combination(message));
        }
        if let Some(size) = size.filter(|size| !(FEWEST..=most).contains(size)) {
            let message = format!(
                "Value ( {size} ) for parameter maxResults is invalid. Expecting a value between {FEWEST} and {most}."
            );
            return Err(Refusal::value(message));
        }
        let mut hasher = DefaultHasher::new();
        parameters.remaining().hash(&mut hasher);
        let question = hasher.finish();
        let after = token.map(|token| read(&token, question)).transpose()?;
        Ok(Self { size, after, question })
    }

    /// The results of the page, and the token of the next. Results come in the order of their identifiers.
    pub(super) fn page<T>(&self, all: Vec<(String, T)>) -> Result<(Vec<T>, Option<String>), Refusal> {
        let is_later = |id: &String| self.after.as_ref().is_none_or(|after| id > after);
        let rest: Vec<(String, T)> = all.into_iter().filter(|(id, _)| is_later(id)).collect();
        let size = self.size.unwrap_or(UNPAGED);
        if self.size.is_none() && rest.len() > UNPAGED {
            let message = "Too many results. Use MaxResults to page through them.";
            return Err(Refusal::new("OperationNotPermitted", message));
        }
        let has_more = rest.len() > size;
        let last = size.checked_sub(1).and_then(|index| rest.get(index)).filter(|_| has_more);
        let next = last.map(|(id, _)| format!("{:016x}{id}", self.question));
        Ok((rest.into_iter().take(size).map(|(_, result)| result).collect(), next))
    }
}

/// The last result of the page before.
fn read(token: &str, question: u64) -> Result<String, Refusal> {
    let (asked, after) = token.split_at_checked(16).unwrap_or_default();
    if u64::from_str_radix(asked, 16) == Ok(question) {
        return Ok(after.to_owned());
    }
    Err(Refusal::new("InvalidPaginationToken", "The specified pagination token is not valid or is expired."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> BTreeMap<String, String> {
        form_urlencoded::parse(text.as_bytes()).into_owned().collect()
    }

    fn take(text: &str) -> Result<Paging, Refusal> {
        Paging::take(&mut Parameters::new(&form(text)), 1000, "Id")
    }

    fn pages(count: usize) -> Vec<(String, usize)> {
        (0..count).map(|number| (format!("id-{number:04}"), number)).collect()
    }

    #[test]
    fn every_result_is_on_one_page() {
        let mut question = "MaxResults=5&Filter.1.Name=a".to_owned();
        let mut seen = Vec::new();
        let mut sizes = Vec::new();
        loop {
            let (page, next) = take(&question).unwrap().page(pages(12)).unwrap();
            sizes.push(page.len());
            seen.extend(page);
            let Some(token) = next else { break };
            question = format!("MaxResults=5&Filter.1.Name=a&NextToken={token}");
        }
        assert_eq!((sizes, seen), (vec![5, 5, 2], (0..12).collect()));
    }

    #[test]
    fn a_token_belongs_to_its_question() {
        let wrong = take("MaxResults=5&Filter.1.Name=b&NextToken=0000000000000000id-1").unwrap_err();
        assert_eq!(wrong.code, "InvalidPaginationToken");
        assert_eq!(take("MaxResults=5&NextToken=x").unwrap_err().code, "InvalidPaginationToken");
    }

    #[test]
    fn sizes_and_identifiers() {
        assert_eq!(take("MaxResults=4").unwrap_err().code, "InvalidParameterValue");
        assert_eq!(take("MaxResults=1001").unwrap_err().code, "InvalidParameterValue");
        assert_eq!(take("MaxResults=5&Id.1=a").unwrap_err().code, "InvalidParameterCombination");
        assert_eq!(take("").unwrap().page(pages(1001)).unwrap_err().code, "OperationNotPermitted");
    }

    #[test]
    fn wide_reads() {
        for (text, expected) in [
            ("", true),
            ("MaxResults=5", true),
            ("Filter.1.Name=a", true),
            ("Filter.1.Name=a&MaxResults=5", false),
            ("NetworkInterfaceId.1=a", false),
            ("SubnetId=a", false),
        ] {
            assert_eq!(is_wide(&form(text)), expected, "{text}");
        }
    }
}
