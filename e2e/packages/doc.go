// Package packages installs what a release publishes, each package the way that people do, sends a trace to the
// server that starts, and reads it back.
//
// Environment, with SPANGROVE_E2E=1:
//
//	SPANGROVE_E2E_RELEASE  folder that build/release filled, with the packages of this machine's platform
//
// It needs Linux, and root for all but wheels and npm packages: Debian's debootstrap and rpm.
package packages
