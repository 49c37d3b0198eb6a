//! Where a reader's spans and diagnostics go, one at a time, so that files of any size can be read.

use slowpath_model::Diagnostic;

use crate::Span;

/// Takes what a reader finds.
pub trait SpanSink {
    /// Takes a span. Spans of several traces may come mixed and in any order.
    fn span(&mut self, span: Span);

    /// Takes what was wrong. A problem that many spans share comes once, with their number.
    fn diagnostic(&mut self, diagnostic: Diagnostic);
}

/// Everything, in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// In the order of the input.
    pub spans: Vec<Span>,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
}

impl SpanSink for Collected {
    fn span(&mut self, span: Span) {
        self.spans.push(span);
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}
