//! A layer: a tar archive whose bytes depend on the files alone, compressed.

use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::root::{ImageRoot, RootEntry};

/// A layer in both forms.
pub(super) struct Layer {
    /// The archive, by whose digest a configuration names it.
    pub(super) archive: Vec<u8>,
    /// The compressed archive, which is the blob.
    pub(super) compressed: Vec<u8>,
}

/// Packs a root. All files are root's, and of the beginning of time.
///
/// # Errors
/// If a path is too long for the format.
pub(super) fn pack(root: &ImageRoot, compression: Compression) -> Result<Layer> {
    let mut builder = Builder::new(Vec::new());
    for (path, entry) in root.entries() {
        let mut header = Header::new_ustar();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(0);
        match entry {
            RootEntry::Directory { mode } => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(*mode);
                builder.append_data(&mut header, format!("{path}/"), &[][..])?;
            }
            RootEntry::File { mode, content } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(content.len().try_into()?);
                builder.append_data(&mut header, path, &content[..])?;
            }
            RootEntry::Link { target } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                builder.append_link(&mut header, path, target)?;
            }
        }
    }
    let archive = builder.into_inner()?;
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), compression);
    encoder.write_all(&archive)?;
    Ok(Layer { compressed: encoder.finish()?, archive })
}
