package main

// The builder needs no modules and compiles nothing here: of what it writes, only
// components.go is kept; main.go is written by hand.
//go:generate go -C ../.. run go.opentelemetry.io/collector/cmd/builder@v0.161.0 --config builder-config.yaml --skip-get-modules --skip-compilation
//go:generate cp ../../_build/components.go components.go
//go:generate gofmt -w components.go
