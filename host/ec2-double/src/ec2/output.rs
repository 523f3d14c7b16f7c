//! Answers and errors as EC2 writes them.

use crate::http::Answer;
use crate::state::Refusal;
use crate::xml::{Element, document, parent, text};

/// The namespace of EC2's answers; its errors have none.
const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// The answer to a call, or its refusal.
pub(super) fn answer(action: &str, request: &str, result: Result<Vec<Element>, Refusal>) -> Answer {
    let (status, written) = match result {
        Ok(children) => {
            let mut whole = vec![text("requestId", request)];
            whole.extend(children);
            (200, document(&format!("{action}Response"), Some(NAMESPACE), &whole))
        }
        Err(refusal) => {
            let error = parent("Error", vec![text("Code", &refusal.code), text("Message", &refusal.message)]);
            let whole = [parent("Errors", vec![error]), text("RequestID", request)];
            (refusal.status, document("Response", None, &whole))
        }
    };
    let mut answer = Answer::new(status, "text/xml;charset=UTF-8", written.unwrap_or_default());
    answer.headers.push(("x-amzn-requestid", request.to_owned()));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(result: Result<Vec<Element>, Refusal>) -> (u16, String) {
        let answer = answer("DeleteNetworkInterface", "r-1", result);
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    #[test]
    fn an_answer_has_the_namespace_and_an_error_does_not() {
        let (status, text) = written(Ok(vec![text("return", true)]));
        assert_eq!(status, 200);
        insta::assert_snapshot!(text, @r#"<?xml version="1.0" encoding="UTF-8"?><DeleteNetworkInterfaceResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r-1</requestId><return>true</return></DeleteNetworkInterfaceResponse>"#);
        let (status, text) = written(Err(Refusal::throttled()));
        assert_eq!(status, 503);
        insta::assert_snapshot!(text, @r#"<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors><RequestID>r-1</RequestID></Response>"#);
    }
}
