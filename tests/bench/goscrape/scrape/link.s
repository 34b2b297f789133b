// Empty. A package with an assembly file may declare functions without a body. Those of fastdelta.go have
// their bodies in another package.
