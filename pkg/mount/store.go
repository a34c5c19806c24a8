package mount

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
)

// StoreHolder is what the store extension is to other components.
type StoreHolder interface {
	// Store gives the open store, for the caller to assert the few methods it needs. It is
	// nil before Start and after Shutdown.
	Store() any
}

// StoreOf returns the store that the extension id holds, as the methods T a component needs.
// key names the setting the id came from ("exporters::spangrove::store") in errors.
func StoreOf[T any](host component.Host, id component.ID, key string) (T, error) {
	var none T
	ext, err := extensionOf(host, id, key)
	if err != nil {
		return none, err
	}
	holder, ok := ext.(StoreHolder)
	if !ok {
		return none, fmt.Errorf("%s: the extension %q holds no store", key, id)
	}
	s := holder.Store()
	if s == nil {
		return none, fmt.Errorf("%s: the extension %q has not opened its store", key, id)
	}
	t, ok := s.(T)
	if !ok {
		return none, fmt.Errorf("%s: the store of the extension %q lacks what is needed here (%T)", key, id, s)
	}
	return t, nil
}

// StoreUser is a component that works with the store of an extension.
type StoreUser interface {
	// StoreID is the extension that holds its store.
	StoreID() component.ID
}

// SameStore returns an error if what the setting key names works with another store than id. Projects are known by number between
// components, and each store numbers its own.
func SameStore(user any, id component.ID, key string) error {
	u, ok := user.(StoreUser)
	if !ok || u.StoreID() == id {
		return nil
	}
	return fmt.Errorf("%s: it works with the store %q, and this with %q; both must have the same one", key, u.StoreID(), id)
}

// ExtensionOf returns the extension id as the methods T a component needs. key is as in StoreOf.
func ExtensionOf[T any](host component.Host, id component.ID, key string) (T, error) {
	var none T
	ext, err := extensionOf(host, id, key)
	if err != nil {
		return none, err
	}
	t, ok := ext.(T)
	if !ok {
		return none, fmt.Errorf("%s: the extension %q cannot be used here", key, id)
	}
	return t, nil
}

func extensionOf(host component.Host, id component.ID, key string) (component.Component, error) {
	ext, ok := host.GetExtensions()[id]
	if !ok {
		return nil, fmt.Errorf("%s: no extension %q runs; define it under extensions and list it in service::extensions", key, id)
	}
	return ext, nil
}
