//! Requests on traces drawn in text: who served which span when, and where its time went.

mod callees;
mod hand_overs;
mod joining;
mod paths;
mod properties;
mod servings;
mod support;
