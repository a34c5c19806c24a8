// Package price computes what a model call cost, from the tokens it used.
//
// Prices come from a table that is built in (see Source) and from prices of the user's own,
// which go before it. A model is found by its name, by its name below its provider's, and by
// both without what only names a snapshot, a region or a path; what is not found has no price,
// which is not the same as costing nothing. A price of 0 in either table is known: such a call
// cost 0.
//
// The package reads no files and does no I/O. Its table is unpacked at the first look-up, takes
// about 300 KB then, and is searched where it lies.
package price
