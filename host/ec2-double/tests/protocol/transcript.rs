//! Calls and their answers as text, for snapshots of what is on the wire.

use tenure_ec2_double::state::Rules;
use tenure_ec2_double::{Addresses, Double, Setup};

use super::client::call;
use super::doubles::setup;

/// A double whose bucket is never empty.
pub(crate) async fn unthrottled(instances: &[&str]) -> Double {
    let rules = Rules { throttling: false, ..Rules::default() };
    Double::start(&Setup { rules, ..setup(instances) }, Addresses::default()).await.unwrap()
}

/// Each call, written as `ACTION FORM`, with the status and the bytes of its answer.
pub(crate) async fn answers(double: &Double, calls: &[&str]) -> String {
    let mut text = String::new();
    for line in calls {
        let (action, form) = line.split_once(' ').unwrap_or((line, ""));
        let reply = call(double, action, form).await;
        text.push_str(&format!("{line}\n{} {}\n", reply.status, reply.body));
    }
    text
}

/// Each call with the status, the code and the message of its refusal; all else is the same in every refusal.
pub(crate) async fn refusals(double: &Double, action: &str, forms: &[&str]) -> String {
    let mut text = String::new();
    for form in forms {
        let reply = call(double, action, form).await;
        assert_ne!(reply.status, 200, "{action} {form}: {}", reply.body);
        let (code, message, request) = (reply.code(), reply.one("Message"), reply.one("RequestID"));
        assert_eq!(
            reply.body,
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Errors><Error><Code>{code}</Code>\
                 <Message>{message}</Message></Error></Errors><RequestID>{request}</RequestID></Response>"
            )
        );
        let asked = if form.is_empty() { "nothing" } else { form };
        text.push_str(&format!("{asked}\n  {} {code}: {message}\n", reply.status));
    }
    text
}
