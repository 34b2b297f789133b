module pprofdelta/tests/e2e/server

go 1.19
