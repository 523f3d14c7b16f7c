//! The committed definitions are those that the types generate.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kube::CustomResourceExt as _;
use serde_json::json;

use super::{definitions, files, page};
use crate::{AddressClaim, AddressClaimStatus, AddressPool, AddressPoolStatus, NodeIPAM, NodeIPAMStatus};

#[test]
fn the_committed_definitions_are_generated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/definitions");
    let committed: BTreeMap<String, String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    let generated: BTreeMap<String, String> = files().unwrap().into_iter().collect();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&generated));
    for (name, text) in &generated {
        assert_eq!(
            committed.get(name),
            Some(text),
            "{name} is out of date: run `cargo run -p tenure-cluster --example definitions`"
        );
    }
}

#[test]
fn the_api_server_knows_each_format() {
    for (name, text) in files().unwrap() {
        let formats = text.lines().filter_map(|line| line.trim().strip_prefix("format: "));
        for format in formats {
            assert!(["date-time", "int32", "int64"].contains(&format), "{name}: {format}");
        }
    }
}

/// An operator writes a status as a merge, in which a field that is missing stays as it is.
#[test]
fn a_status_is_written_with_each_of_its_fields() {
    for (status, definition) in [
        (json!(AddressPoolStatus::default()), AddressPool::crd()),
        (
            json!(AddressClaimStatus { phase: "Bound".into(), ..AddressClaimStatus::default() }),
            AddressClaim::crd(),
        ),
        (json!(NodeIPAMStatus::default()), NodeIPAM::crd()),
    ] {
        let definition = json!(definition);
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let fields = schema["properties"]["status"]["properties"].as_object().unwrap();
        let written = status.as_object().unwrap();
        assert!(fields.keys().eq(written.keys()), "{}: {written:?}", definition["spec"]["names"]["kind"]);
    }
}

#[test]
fn the_committed_reference_is_generated_and_has_every_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/book/src").join(page::FILE);
    let generated = page::page(&definitions());
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        generated,
        "{} is out of date: run `cargo run -p tenure-cluster --example definitions`",
        page::FILE
    );
    for field in ["`spec.overlapGroup`", "`spec.exclusions[]", "`spec.held[]", "`status.mark.why`"] {
        assert!(generated.contains(field), "{field}");
    }
    let rows = generated.lines().filter(|row| row.starts_with('|'));
    assert!(rows.clone().all(|row| row.replace("\\|", "").matches('|').count() == 4));
    assert!(rows.count() > 60);
}
