"""Declared state: every class lists exactly what it consists of, and refuses anything else."""

import dataclasses
import functools

import pytest
from saved_classes import CLASSES
from saved_examples import ESTIMATORS, PARTS, estimator_after

from streamchi2.persistence import dumped
from streamchi2.state import Saved, SavedValue, refuse_undeclared


def parts_of(thing, found):
    """Collect an object and all saved objects inside it."""
    if isinstance(thing, tuple | list):
        for entry in thing:
            parts_of(entry, found)
    elif isinstance(thing, Saved):
        found.append(thing)
        parts_of(list(thing.get_state().values()), found)
    return found


@functools.cache
def instances():
    """Return an object of each class that can be saved."""
    examples = [make() for make in PARTS.values()]
    examples += [estimator_after(name, n_rows) for name in ESTIMATORS for n_rows in (0, 66)]
    return {type(part): part for part in parts_of(examples, [])}


# Base classes.
ABSTRACT = {kind for kind in CLASSES if kind.__subclasses__()}


def test_the_examples_hold_an_object_of_every_class():
    missing = {kind.__name__ for kind in set(CLASSES) - ABSTRACT - instances().keys()}
    assert missing <= {"Transport"}  # which needs a change


def test_the_declared_fields_are_those_that_there_are():
    for kind, part in instances().items():
        assert part.get_state().keys() == kind.STATE.keys(), kind.saved_name()


@pytest.mark.parametrize(
    "kind", [k for k in CLASSES if dataclasses.is_dataclass(k)], ids=lambda kind: kind.__name__
)
def test_values_declare_exactly_the_fields_of_their_constructors(kind):
    assert issubclass(kind, SavedValue)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    # Landmarks remember the object that they were read from, which is no state.
    assert {field.name for field in fields} - {"given"} == kind.STATE.keys()


def test_other_attributes_are_refused():
    for kind, part in instances().items():
        if kind.get_state is not Saved.get_state:
            continue
        assert vars(part).keys() == kind.STATE.keys(), kind.__name__
        part.stranger = 1
        try:
            with pytest.raises(TypeError, match="not declared: stranger"):
                part.get_state()
        finally:
            del part.stranger


@pytest.mark.parametrize("name", ["classifier", "ridge", "river sampler", "river classifier"])
def test_attributes_that_users_have_added_are_refused(name):
    estimator = estimator_after(name, 5)
    estimator.note = "mine"
    with pytest.raises(TypeError, match="not declared: note"):
        dumped(estimator)


def test_a_stream_holds_its_state_and_what_it_starts_with():
    stream = PARTS["stream of labels"]()
    started = object.__new__(type(stream))
    started._start()
    refuse_undeclared(stream, (*stream.STATE, *vars(started)))
    assert vars(stream).keys() == stream.STATE.keys() | vars(started).keys()
