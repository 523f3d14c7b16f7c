//! Writes the CustomResourceDefinitions to `deploy/kubernetes/definitions`: `cargo run -p tenure-cluster --example definitions`.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/definitions");
    fs::create_dir_all(&folder)?;
    for (name, text) in tenure_cluster::definitions::files()? {
        fs::write(folder.join(&name), text)?;
        println!("wrote {name}");
    }
    Ok(())
}
