"""Maps of whatever kind: of one descriptor, of several, or with their features projected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.feature_map import FeatureMap
from streamchi2.joint_map import JointMap, JointRecipe
from streamchi2.projected_map import ProjectedMap, ProjectedRecipe

AnyMap: TypeAlias = AdaptiveMap | JointMap | ProjectedMap
AnyRecipe: TypeAlias = FeatureMap | JointRecipe | ProjectedRecipe
Found = TypeVar("Found")


def each_map(state: AnyMap, look: Callable[[AdaptiveMap], Found]) -> Any:
    """Return what is read of a map, or of each descriptor's under its name."""
    if isinstance(state, AdaptiveMap):
        return look(state)
    joint = state.inner if isinstance(state, ProjectedMap) else state
    return {name: look(part) for name, part in zip(joint.settings.names, joint.parts, strict=True)}


def each_recipe(recipe: AnyRecipe, look: Callable[[FeatureMap], Found]) -> Any:
    """Return what is read of a recipe, or of each descriptor's under its name."""
    if isinstance(recipe, FeatureMap):
        return look(recipe)
    joint = recipe.joint if isinstance(recipe, ProjectedRecipe) else recipe
    return {name: look(part) for name, part in zip(joint.names, joint.maps, strict=True)}


def sizes_of(recipe: AnyRecipe) -> tuple[int, ...]:
    """Return the number of features of each descriptor; one number without descriptors."""
    if isinstance(recipe, FeatureMap):
        return (recipe.n_components,)
    if isinstance(recipe, ProjectedRecipe):
        return recipe.projection.sizes
    return tuple(part.n_components for part in recipe.maps)
