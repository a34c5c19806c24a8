// Package evaluateextension owns what runs metrics: the engines of package evaluate, which it
// builds from its configuration, starts and ends. The API finds it by its ID.
//
// An engine that holds something beyond its calls (an interpreter, connections) implements
// io.Closer and is closed at shutdown, after the last evaluation has ended.
package evaluateextension
