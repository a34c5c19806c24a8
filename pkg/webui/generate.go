package webui

//go:generate go run ./internal/apitypes
//go:generate go run ./internal/bundle
