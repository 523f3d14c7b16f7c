//! The texts of a file that a person reads: doc comments, comments and messages of Rust, and the prose of Markdown.
//!
//! This is not a Rust parser. It knows comments and literals, and ignores everything after `mod tests`.

/// The place where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A doc comment, of an item or of a module.
    Doc,
    /// Comments, string literals and Markdown.
    Other,
}

/// A text, with the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: TextKind,
    pub(super) line: usize,
    pub(super) text: String,
}

/// The comments of Rust source, consecutive lines as one, and its string literals with more than one word.
pub(super) fn rust(text: &str) -> Vec<Piece> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let mut reader = SourceReader { pieces: Vec::new(), line: 1, comment: None };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = reader.step(rest, next);
    }
    reader.end_comment();
    reader.pieces
}

/// The lines of a page outside of its code blocks, each paragraph as one text.
pub(super) fn markdown(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut in_code, mut paragraph) = (false, None::<Piece>);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        if is_fence || in_code || line.is_empty() {
            pieces.extend(paragraph.take());
            continue;
        }
        if line.starts_with(['-', '|', '#', '*', '>']) {
            pieces.extend(paragraph.take());
        }
        let piece =
            paragraph.get_or_insert(Piece { kind: TextKind::Other, line: number, text: String::new() });
        piece.text.push_str(line);
        piece.text.push('\n');
    }
    pieces.extend(paragraph);
    pieces
}

/// A walk through Rust source.
struct SourceReader {
    pieces: Vec<Piece>,
    line: usize,
    /// The comment that the next comment line continues, with its marker and the line after it.
    comment: Option<(&'static str, usize, Piece)>,
}

impl SourceReader {
    /// Reads what begins with a character; returns the text after it.
    fn step<'a>(&mut self, rest: &'a str, next: char) -> &'a str {
        if rest.starts_with("//") {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            self.comment(line);
            self.line += 1;
            return after;
        }
        let raw = rest.strip_prefix('r').map(|tail| (tail, tail.trim_start_matches('#')));
        if let Some((tail, quoted)) = raw
            && let Some(body) = quoted.strip_prefix('"')
        {
            let close = format!("\"{}", "#".repeat(tail.len() - quoted.len()));
            let (literal, after) = body.split_once(close.as_str()).unwrap_or((body, ""));
            self.literal(literal, literal);
            return after;
        }
        if next == '"' {
            let body = rest.get(1..).unwrap_or_default();
            let end = end_of_literal(body);
            let (literal, after) = body.split_at_checked(end).unwrap_or((body, ""));
            self.literal(literal, &joined(literal));
            return after.get(1..).unwrap_or_default();
        }
        if next == '\'' {
            return character(rest);
        }
        if next == '\n' {
            self.line += 1;
        }
        // An identifier that ends with `r` does not begin a raw string.
        let word = rest
            .find(|character: char| !(character.is_alphanumeric() || character == '_'))
            .unwrap_or(rest.len());
        rest.get(word.max(next.len_utf8())..).unwrap_or_default()
    }

    /// Adds a line of a comment to the one before it, or begins another one.
    fn comment(&mut self, line: &str) {
        let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker)).unwrap_or("//");
        let body = line.get(marker.len()..).unwrap_or_default().trim();
        match &mut self.comment {
            Some((known, next, piece)) if *known == marker && *next == self.line => {
                piece.text.push('\n');
                piece.text.push_str(body);
                *next += 1;
            }
            _ => {
                self.end_comment();
                let kind = if marker == "//" { TextKind::Other } else { TextKind::Doc };
                let piece = Piece { kind, line: self.line, text: body.to_owned() };
                self.comment = Some((marker, self.line + 1, piece));
            }
        }
    }

    fn end_comment(&mut self) {
        let ended = self.comment.take().map(|(_, _, mut piece)| {
            piece.text = without_code(&piece.text);
            piece
        });
        self.pieces.extend(ended);
    }

    /// Adds a literal, if it may be a message.
    fn literal(&mut self, written: &str, text: &str) {
        if text.contains(' ') {
            self.end_comment();
            self.pieces.push(Piece { kind: TextKind::Other, line: self.line, text: text.to_owned() });
        }
        self.line += written.matches('\n').count();
    }
}

/// A comment without its code blocks.
fn without_code(text: &str) -> String {
    text.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// The position of the quote that ends a literal.
fn end_of_literal(body: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in body.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    body.len()
}

/// A literal whose lines end with `\`, as one line.
fn joined(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// The text after a character literal, a lifetime or a label.
fn character(rest: &str) -> &str {
    let body = rest.get(1..).unwrap_or_default();
    let length = if body.starts_with('\\') {
        body.get(2..).and_then(|tail| tail.find('\'')).map_or(1, |end| end + 3)
    } else {
        let first = body.chars().next().map_or(0, char::len_utf8);
        if body.get(first..).is_some_and(|tail| tail.starts_with('\'')) { first + 1 } else { 0 }
    };
    body.get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(usize, String)> {
        rust(text).into_iter().map(|piece| (piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_of_several_lines_are_one_text() {
        let text =
            "//! A.\n//! B.\n\nfn f<'a>(x: &'a str) {\n    // C\n    // D\n    let e = '\"';\n}\n/// F\n";
        let expected = [(1, "A.\nB.".to_owned()), (5, "C\nD".to_owned()), (9, "F".to_owned())];
        assert_eq!(pieces(text), expected);
        let kinds: Vec<TextKind> = rust(text).into_iter().map(|piece| piece.kind).collect();
        assert_eq!(kinds, [TextKind::Doc, TextKind::Other, TextKind::Doc]);
    }

    #[test]
    fn literals_are_read_whole_and_only_with_several_words() {
        let text = "let a = \"one \\\n    two\";\nlet b = r#\"three \"and\" four\"#;\nlet c = \"five\";\nlet d = \"six \\\" seven\";\n\
                    let e = '\\'';\nlet error = \"eight nine\";\n";
        let expected = ["one two", "three \"and\" four", "six \\\" seven", "eight nine"];
        let found = pieces(text);
        assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 5, 7]);
    }

    #[test]
    fn code_blocks_and_tests_are_left_out() {
        let text = "/// A:\n/// ```\n/// let shall = 1;\n/// ```\n/// B.\nfn f() {}\n\nmod tests {\n    // shall\n}\n";
        assert!(pieces(text).iter().all(|(_, text)| !text.contains("shall")), "{:?}", pieces(text));
        let page = markdown("# A\n\nB shall\nC.\n\n```toml\n# shall\n```\n- D\n- E\n");
        let lines: Vec<usize> = page.iter().map(|piece| piece.line).collect();
        assert_eq!(lines, [1, 3, 9, 10]);
    }
}
