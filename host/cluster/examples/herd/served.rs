//! Counts of the API server itself.

use http::Request;
use kube::Client;

use crate::Failure;

/// The verbs of writes, as the API server counts them.
const WRITES: [&str; 4] = ["APPLY", "PATCH", "POST", "PUT"];

/// The writes of NodeIPAMs that the API server has confirmed since its start.
pub(crate) async fn written(client: &Client) -> Result<f64, Failure> {
    let page = client.request_text(Request::get("/metrics").body(Vec::new())?).await?;
    let rows =
        page.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{")?.split_once("} "));
    let is_write = |labels: &str| {
        labels.contains("resource=\"nodeipams\"")
            && labels.contains("code=\"2")
            && WRITES.iter().any(|verb| labels.contains(&format!("verb=\"{verb}\"")))
    };
    let writes = rows.filter(|(labels, _)| is_write(labels));
    Ok(writes.filter_map(|(_, count)| count.trim().parse::<f64>().ok()).sum())
}
