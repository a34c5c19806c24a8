// Package check tests what stands in deploy with the libraries of those who read it: Helm renders the chart, compose-go loads the compose file, and
// Prometheus parses and evaluates the rules and the expressions of the dashboard, which may only use metrics and labels that a running
// server has. It is a module of its own, so that what it needs is not what the product needs.
//
//	make deploy-test
package check
