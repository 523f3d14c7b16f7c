//! Policies in other languages: each template is built by its recipe and serves pods through the daemon.
//!
//! What the recipes download is kept in the target folder, so that only the first run is slow. A recipe whose tools are not installed is
//! skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tenure_e2e::{Attachment, Daemon, Need, Suite, folder, wait};

/// How long an unoptimised compiler may take for Python's eighteen megabytes on a busy machine.
const COMPILED: Duration = Duration::from_secs(300);

/// A language, and how to plant a fault in the rule of its template. Its words have a character of several bytes, and what is not UTF-8.
struct Language {
    name: &'static str,
    /// The file of the rule.
    rule: &'static str,
    /// The line of the rule before which the fault is planted, and the fault: it fails each request on the network `broken`.
    line: &'static str,
    fault: &'static str,
    /// The daemon's report about it.
    told: &'static str,
}

const C: Language = Language {
    name: "c",
    rule: "rule.c",
    line: "    tenure_ipam_ledger_list_pool_t pools;",
    fault: r#"    if (request->network.ptr[0] == 'b') fail("planted: \xff \xc3\xa9");"#,
    told: r"its last warning: planted: \xff é",
};

const GO: Language = Language {
    name: "go",
    rule: "rule/rule.go",
    line: "\tproposal := Proposal{}",
    fault: "\tif request.Network == \"broken\" {\n\t\tpanic(\"planted: \\xff é\")\n\t}",
    told: r"its last warning: panic: planted: \xff é",
};

const TYPESCRIPT: Language = Language {
    name: "typescript",
    rule: "rule.ts",
    line: "  const assignments = ",
    fault: r#"  if (request.network === "broken") throw new RangeError("planted: \ud800 é");"#,
    told: r"its last warning: RangeError: planted: \ud800 é; at propose (",
};

const PYTHON: Language = Language {
    name: "python",
    rule: "rule.py",
    line: "        assignments = []",
    fault: "        if request.network == \"broken\":\n            raise ValueError(\"planted: \\udc80 é\")",
    told: r"its last warning: ValueError: planted: \udc80 é; at propose (",
};

fn main() -> ExitCode {
    Suite::new()
        .test("a_policy_in_c_is_built_and_serves", &[Need::CLANG, Need::WASM_LD], || serves(&C))
        .test("a_policy_in_go_is_built_and_serves", &[Need::GO], || serves(&GO))
        .test("a_policy_in_typescript_is_built_and_serves", &[Need::NODE, Need::NPM], || serves(&TYPESCRIPT))
        .test("a_policy_in_python_is_built_and_serves", &[Need::PYTHON], || serves(&PYTHON))
        .test("each_template_in_rust_passes_its_own_tests_and_is_formatted", &[], templates)
        .test("a_module_is_wrapped_and_what_is_no_policy_is_refused", &[], wrapped)
        .run()
}

/// Two networks: one for what works, and one on which the planted fault fails.
fn serves(language: &Language) -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let (component, sha256) = built(language, &daemon)?;
    daemon.configure(&format!(
        "[sandbox]\ncompile_seconds = 300\n[policies.{}]\npath = {component:?}\nsha256 = {sha256:?}\n",
        language.name
    ))?;
    daemon.launch()?;
    wait::holds("the policy to be compiled", COMPILED, || {
        let list = daemon.ctl(&["policy", "list"])?;
        let policies = list.get("policies").and_then(Value::as_array).context("no list")?;
        Ok(policies.iter().all(|policy| policy.get("loading") != Some(&json!(true))))
    })?;
    let shim = daemon.shim()?;
    let config = |network: &str, ipam: Value| {
        let mut config = json!({ "cniVersion": "1.1.0", "name": network, "ipam": { "type": "tenure", "policy": language.name } });
        if let (Some(ipam), Some(own)) =
            (ipam.as_object(), config.pointer_mut("/ipam").and_then(Value::as_object_mut))
        {
            own.extend(ipam.clone());
        }
        config
    };
    let small = json!({ "ranges": [[{ "subnet": "10.83.0.0/29" }], [{ "subnet": "fd00:83::/64" }]] });
    let net = config("net", small.clone());
    for number in 2..=6 {
        let pod = Attachment::of(format!("c{number}"));
        let addresses = shim.call("ADD", &pod, &net)?.addresses()?;
        let expected = [format!("10.83.0.{number}/29"), format!("fd00:83::{number}/64")];
        ensure!(addresses == expected, "not in turn: {addresses:?}");
    }
    let full = shim.call("ADD", &Attachment::of("late"), &net)?;
    let error = full.error_code(101)?;
    ensure!(error.msg.ends_with(": no address is free in pool 0"), "{error:?}");
    // What is still cooling down is better than nothing.
    shim.call("DEL", &Attachment::of("c4"), &net)?.silent()?;
    let again = shim.call("ADD", &Attachment::of("late"), &net)?.addresses()?;
    ensure!(
        again.first().is_some_and(|first| first == "10.83.0.4/29"),
        "not the one that is cooling down: {again:?}"
    );

    let wrong = config("wrong", json!({ "ranges": [[{ "subnet": "10.83.0.0/33" }]] }));
    let error = shim.call("ADD", &Attachment::of("pod"), &wrong)?.error_code(7)?;
    ensure!(error.msg.contains("ipam.ranges[0][0].subnet"), "the refusal does not name the key: {error:?}");

    let broken = shim.call("ADD", &Attachment::of("pod"), &config("broken", small))?;
    let error = broken.error_code(105)?;
    ensure!(error.msg.contains(language.told), "the exception did not reach its author: {error:?}");
    Ok(())
}

/// Creates a policy of the template with the fault in it, builds it, and returns its component's file and digest.
fn built(language: &Language, daemon: &Daemon) -> anyhow::Result<(PathBuf, String)> {
    let name = language.name;
    let fresh = daemon.path(&format!("{name}-policy"));
    let path = fresh.display().to_string();
    daemon.ctl(&["policy", "new", &path, "--language", name])?;
    let rule = fresh.join(language.rule);
    let text = fs::read_to_string(&rule)?;
    let planted = text.replacen(language.line, &format!("{}\n{}", language.fault, language.line), 1);
    ensure!(planted != text, "{} has no line {:?}", language.rule, language.line);
    fs::write(&rule, planted)?;
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("languages").join(name);
    folder::copy(&fresh, &kept)?;
    let folder = kept.display().to_string();
    let told = daemon.ctl(&["policy", "build", &folder])?;
    let component = kept.join("policy.wasm");
    // The cases are those of the template in Rust.
    daemon.ctl(&["policy", "test", &folder, "--component", &component.display().to_string()])?;
    let sha256 = told.get("sha256").and_then(Value::as_str).context("no digest")?;
    Ok((component, sha256.to_owned()))
}

/// Each template as it is: its cases in the sandbox, its tests natively, and its format.
fn templates() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    let sdk = workspace.join("sdk").display().to_string();
    for template in ["plain", "stateful", "planner"] {
        let folder = daemon.path(&format!("my-{template}"));
        let path = folder.display().to_string();
        daemon.ctl(&["policy", "new", &path, "--template", template, "--sdk", &sdk])?;
        // The versions that the workspace has, so that nothing needs to be downloaded.
        fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        let tested = daemon.ctl(&["policy", "test", &path])?;
        ensure!(tested.get("passed") == Some(&json!(true)), "{template}: {tested}");
        for arguments in [&["test", "--quiet"][..], &["fmt", "--check"]] {
            let output = Command::new("cargo")
                .args(arguments)
                .current_dir(&folder)
                .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"))
                .env("CARGO_NET_OFFLINE", "true")
                .env_remove("CARGO")
                .output()?;
            ensure!(output.status.success(), "{template}: cargo {arguments:?}: {output:?}");
        }
    }
    Ok(())
}

/// A module that no recipe made, and one that exports nothing.
fn wrapped() -> anyhow::Result<()> {
    let daemon = Daemon::prepare()?;
    let function = r#"(param i32 i32 i32 i32 i32 i32) (result i32) unreachable)"#;
    let text = format!(
        r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
            (memory (export "memory") 1)
            (func (export "tenure:ipam/network@0.1.0-rc.1#define") {function}
            (func (export "tenure:ipam/allocation@0.1.0-rc.1#propose") {function}
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#
    );
    let (module, component) = (daemon.path("module.wasm"), daemon.path("mine.wasm"));
    fs::write(&module, wat::parse_str(text)?)?;
    let (from, to) = (module.display().to_string(), component.display().to_string());
    let told = daemon.ctl(&["policy", "wrap", &from, "--to", &to])?;
    ensure!(told.get("file") == Some(&json!(to)) && component.exists(), "{told}");
    fs::write(&module, wat::parse_str("(module)")?)?;
    let refused = daemon.ctl(&["policy", "wrap", &from]).map_err(|error| error.to_string());
    ensure!(
        refused.is_err_and(|error| error.contains("exports no policy")),
        "a module without exports was wrapped"
    );
    Ok(())
}
