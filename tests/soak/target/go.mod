module pprofdelta.test/soak

go 1.21
