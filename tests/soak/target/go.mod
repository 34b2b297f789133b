module pprofdelta.test/soak

go 1.19
