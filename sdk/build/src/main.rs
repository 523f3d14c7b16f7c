//! `tenure-sdk-build FOLDER OUTPUT` builds the policy in a folder, `tenure-sdk-build PACKAGE[/EXAMPLE] OUTPUT` one of the
//! workspace in the current directory; each writes the component.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [package, output] = arguments.as_slice() else {
        eprintln!("usage: tenure-sdk-build FOLDER|PACKAGE[/EXAMPLE] OUTPUT");
        return ExitCode::from(2);
    };
    match build(package, Path::new(output)) {
        Ok(size) => {
            println!("{output}: {size} bytes");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tenure-sdk-build: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build(what: &str, output: &Path) -> Result<usize, Box<dyn Error>> {
    let component = if Path::new(what).join("Cargo.toml").is_file() {
        tenure_sdk_build::build(Path::new(what))?
    } else {
        let workspace = std::env::current_dir()?;
        let target = workspace.join("target/wasm");
        let builder = tenure_sdk_build::Builder::new(workspace, target)?;
        match what.split_once('/') {
            Some((package, example)) => builder.example(package, example)?,
            None => builder.component(what)?,
        }
    };
    std::fs::write(output, &component)?;
    Ok(component.len())
}
