// Package scrub finds well-known secrets in text and replaces each by [scrubbed:RULE]: keys of providers, tokens, passwords
// in URLs, private keys, payment cards, on request e-mail addresses, and what a user's own patterns match.
//
// A text is looked at in this order:
//
//  1. A quick pass reads about every twelfth byte. Keys are long runs of letters and digits, so text whose words are shorter
//     is passed over; a long run is compared with the beginnings of the keys that the rules know. Nearly all text ends here.
//  2. Text that is JSON is walked: each string and each key is decoded, looked at on its own, and encoded again only if it
//     changed. A string that is JSON itself is walked in turn. So JSON stays JSON, and escapes hide nothing.
//  3. In all other text matches are replaced where they stand. Escapes such as \n or \/ before and in a secret are
//     understood there, too, since text is often JSON that was cut off or has words around it.
//
// Work is linear in the size of the text: no rule goes back, and regular expressions are Go's.
//
// What it never does: it changes no number, but for a bare number whose key says that it is a payment card; it does not put
// together a secret that is split over several strings; and it takes no text for a secret only because it looks random, which is
// asked beside a prefix, a scheme or a name.
package scrub
