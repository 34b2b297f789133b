module receivers

go 1.25.0
