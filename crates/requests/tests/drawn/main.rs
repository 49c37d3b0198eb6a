//! Requests on traces drawn in text: who served which span when, and where its time went.

mod callees;
mod joining;
mod paths;
mod properties;
mod servings;
mod support;
