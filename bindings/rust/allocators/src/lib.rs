//! Nothing: see the tests and examples.
