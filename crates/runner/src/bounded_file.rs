//! Opens files of a Pod's folder without waiting, and reads a bounded part of them. A container that runs
//! as our own user can put a FIFO, a link or a huge file in place of our files.

pub(crate) use punctual_files::{create, open, open_append, read};
