//! Answers and errors as EC2 writes them.

use std::collections::BTreeMap;

use quick_xml::se::to_string_with_root;
use serde::Serialize;

use crate::http::Answer;
use crate::state::Refusal;
use crate::xml::record;

/// The namespace of EC2's answers; its errors have none.
const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// The document that answers a call.
pub(super) fn document(action: &str, request_id: &str, result: impl Serialize) -> String {
    let response = record!(Response {
        #[serde(rename = "@xmlns")]
        namespace: NAMESPACE,
        request_id: request_id,
        #[serde(flatten)]
        result: result,
    });
    written(&format!("{action}Response"), &response)
}

/// The answer to a call, or its refusal.
pub(super) fn answer(request_id: &str, result: Result<String, Refusal>) -> Answer {
    let (status, document) = match result {
        Ok(document) => (200, document),
        Err(refusal) => (refusal.status, error(request_id, &refusal)),
    };
    let mut answer = Answer::new(status, "text/xml;charset=UTF-8", document);
    answer.headers.push(("x-amzn-requestid", request_id.to_owned()));
    answer
}

/// The document that refuses a call.
fn error(request_id: &str, refusal: &Refusal) -> String {
    let error = BTreeMap::from([("Code", &*refusal.code), ("Message", &refusal.message)]);
    let response = record!(Response {
        #[serde(rename = "Errors")]
        errors: BTreeMap::from([("Error", error)]),
        #[serde(rename = "RequestID")]
        request_id: request_id,
    });
    written("Response", &response)
}

/// A document with its declaration. Memory does not refuse writes, and all names are names of elements.
fn written(root: &str, content: &impl Serialize) -> String {
    let elements = to_string_with_root(root, content).unwrap_or_default();
    format!(r#"<?xml version="1.0" encoding="UTF-8"?>{elements}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_namespace_and_an_error_does_not() {
        let text = document("DeleteNetworkInterface", "r-1", record!(Done { r#return: true }));
        insta::assert_snapshot!(text, @r#"<?xml version="1.0" encoding="UTF-8"?><DeleteNetworkInterfaceResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r-1</requestId><return>true</return></DeleteNetworkInterfaceResponse>"#);
        let answer = answer("r-1", Err(Refusal::throttled()));
        assert_eq!(answer.status, 503);
        let text = String::from_utf8(answer.body).unwrap();
        insta::assert_snapshot!(text, @r#"<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors><RequestID>r-1</RequestID></Response>"#);
    }
}
