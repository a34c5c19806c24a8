package webui

//go:generate go run ./internal/bundle
