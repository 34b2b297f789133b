// Empty: with an assembly file in the package, the compiler lets functions go without a body, which
// the ones of link.go have elsewhere.
