//! Writes the CustomResourceDefinitions to `deploy/kubernetes/definitions`, and their reference to the book: `cargo run -p tenure-cluster --example definitions`.

use std::error::Error;
use std::fs;
use std::path::Path;

use tenure_cluster::definitions::{definitions, files, page};

fn main() -> Result<(), Box<dyn Error>> {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let folder = deploy.join("kubernetes/definitions");
    fs::create_dir_all(&folder)?;
    for (name, text) in files()? {
        fs::write(folder.join(&name), text)?;
        println!("wrote {name}");
    }
    fs::write(deploy.join("book/src").join(page::FILE), page::page(&definitions()))?;
    println!("wrote {}", page::FILE);
    Ok(())
}
