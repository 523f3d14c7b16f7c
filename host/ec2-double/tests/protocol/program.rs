//! The program itself: what it prints, that it serves, and that it listens on loopback only.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tenure-ec2-double"))
}

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_says_where_it_is_and_serves() {
    let any = "127.0.0.1:0";
    let mut command = program();
    command.args(["--ec2", any, "--imds", any, "--control", any, "--seed", "1", "--instance", "t3.small"]);
    let mut running =
        Running(command.args(["--instance", "m5.large"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines.by_ref().map(Result::unwrap).take_while(|line| line != "ready").collect();
    assert_eq!(said[0], "TENURE_SEED=1");
    let words = |index: usize| said[index].split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((words(1)[0].as_str(), words(2)[0].as_str(), said.len()), ("EC2", "control", 5), "{said:?}");
    assert!(words(3)[2].starts_with("i-") && words(4)[2].starts_with("i-"), "{said:?}");
    assert_eq!(
        (words(3)[3].as_str(), words(4)[3].as_str()),
        ("t3.small", "m5.large"),
        "in the order of the flags"
    );
    let control = words(2)[1].trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&control).unwrap();
    stream
        .write_all(format!("GET /state HTTP/1.1\r\nhost: {control}\r\nconnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK") && reply.contains(&words(3)[2]), "{reply}");
}

#[test]
fn only_loopback_is_served() {
    let output = program().args(["--ec2", "0.0.0.0:0"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("0.0.0.0:0 is not a loopback address"), "{error}");
}

#[test]
fn help_describes_the_control_port() {
    let output = program().arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for word in ["POST   /faults", "lost_after", "GET    /oracle", "PUT    /consistency", "--virtual-time"] {
        assert!(help.contains(word), "{word} is missing in {help}");
    }
}

#[test]
fn a_set_up_file_says_everything_and_mistakes_are_named() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("wrong.json");
    std::fs::write(&file, r#"{"subnets": [{"cidr": "10.0.0.0/24", "colour": "red"}]}"#).unwrap();
    let output = program().arg("--setup").arg(&file).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("unknown field `colour`"), "{error}");
}
