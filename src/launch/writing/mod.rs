//! Pages from facts: which there are, their text from templates, their prose from a language model.

pub mod openai_writer;
pub mod planner;
pub mod section_writer;
