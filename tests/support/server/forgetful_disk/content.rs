//! A file's bytes, of which a copy costs little: unchanged pieces are shared.

use std::sync::Arc;

const PIECE: usize = 16 * 1024;

#[derive(Debug, Clone, Default)]
pub struct Content {
    pieces: Vec<Arc<[u8; PIECE]>>,
    size: usize,
}

impl Content {
    pub const fn size(&self) -> usize {
        self.size
    }

    pub fn read(&self, from: usize, length: usize) -> Vec<u8> {
        let end = from.saturating_add(length).min(self.size);
        let mut bytes = Vec::with_capacity(end.saturating_sub(from));
        let mut at = from;
        while at < end {
            let (piece, start) = (&self.pieces[at / PIECE], at % PIECE);
            let length = (PIECE - start).min(end - at);
            bytes.extend_from_slice(&piece[start..start + length]);
            at += length;
        }
        bytes
    }

    pub fn write(&mut self, from: usize, bytes: &[u8]) {
        self.resize(self.size.max(from + bytes.len()));
        let mut done = 0;
        while done < bytes.len() {
            let (at, start) = ((from + done) / PIECE, (from + done) % PIECE);
            let length = (PIECE - start).min(bytes.len() - done);
            let piece = Arc::make_mut(&mut self.pieces[at]);
            piece[start..start + length].copy_from_slice(&bytes[done..done + length]);
            done += length;
        }
    }

    /// New bytes are zero, also where there were others before a cut.
    pub fn resize(&mut self, size: usize) {
        self.pieces.resize_with(size.div_ceil(PIECE), || Arc::new([0; PIECE]));
        let cut = size % PIECE;
        if let Some(last) = self.pieces.last_mut().filter(|_| size < self.size && cut > 0) {
            Arc::make_mut(last)[cut..].fill(0);
        }
        self.size = size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_written_across_pieces_and_a_copy_keeps_its_own() {
        let mut content = Content::default();
        let bytes: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        content.write(10, &bytes);
        let copy = content.clone();
        content.write(PIECE + 5, b"changed");
        assert_eq!(copy.read(10, bytes.len()), bytes);
        assert_eq!(content.read(PIECE + 5, 7), b"changed");
        assert_eq!(content.read(0, 12), [[0; 10].as_slice(), &bytes[..2]].concat());
        assert_eq!(content.size(), 100_010);
        assert_eq!(content.read(100_005, 100), bytes[99_995..]);
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let mut content = Content::default();
        content.write(0, &[7; 100]);
        content.resize(10);
        content.resize(100);
        assert_eq!(content.read(0, 100), [[7; 10].as_slice(), &[0; 90]].concat());
    }
}
