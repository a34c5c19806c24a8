"""The operations that the installed `honeyhive` offers, and which of them are called.

They are taken from the package itself: an operation that a newer version brings is
one that no case calls, until there is one.
"""

import functools
import importlib
import inspect
import pkgutil

CALLED = set()


def _places():
    """Every (owner, attribute) at which the installed version keeps an operation."""
    try:
        generated = importlib.import_module("honeyhive._generated.services")
    except ModuleNotFoundError:
        return list(_of_older_client())
    return [
        (module, name)
        for found in pkgutil.iter_modules(generated.__path__)
        if not found.name.startswith("async_")  # the same requests once more
        for module in [importlib.import_module(f"{generated.__name__}.{found.name}")]
        for name, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__
    ]


def _of_older_client():
    """The 0.2 client keeps a class for each kind of thing among its attributes."""
    from honeyhive import HoneyHive
    from honeyhive.basesdk import BaseSDK

    for part in vars(HoneyHive(bearer_auth="none", server_url="http://127.0.0.1:1")).values():
        if not isinstance(part, BaseSDK):
            continue
        for name, f in vars(type(part)).items():
            if inspect.isfunction(f) and not name.startswith("_") and not name.endswith("_async"):
                yield type(part), name


def _name(owner, name):
    return f"{owner.__name__.rpartition('.')[2]}.{name}"


def names():
    """The names of all operations that a case has to call."""
    return sorted(_name(*place) for place in _places())


def watch():
    """From now on an operation that returns, and so took our answer, is in CALLED."""
    for owner, name in _places():
        setattr(owner, name, _watched(getattr(owner, name), _name(owner, name)))


def _watched(operation, name):
    @functools.wraps(operation)
    def call(*args, **kwargs):
        answer = operation(*args, **kwargs)
        CALLED.add(name)
        return answer

    return call
