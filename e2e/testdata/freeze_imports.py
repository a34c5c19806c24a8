"""A pytest plugin that keeps imported modules out of garbage collections.

HoneyHive's suite collects garbage four times for each test, over the hundreds of thousands of objects of the
libraries that it imports, some of them only in a test: most of the time that it takes. Modules stay for good,
so the collector need not walk what they hold. What a test makes is collected as before.
"""

import gc
import sys

frozen = 0  # modules whose objects the collector passes over


def freeze():
    global frozen
    if len(sys.modules) > frozen:
        gc.collect()
        gc.freeze()
        frozen = len(sys.modules)


def pytest_collection_finish(session):
    freeze()


def pytest_runtest_logfinish(nodeid, location):
    freeze()
