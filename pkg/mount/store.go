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
