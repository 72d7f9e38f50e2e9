"""The minimum of a convex function of variables with bounds, by L-BFGS with projected steps.

A step goes along -H g, where H is made of the last changes of the gradient g, on top of a diagonal that is given: the
inverse curvature of each variable, so that variables of different scales need no steps to find that out. Variables at a
bound that the function pushes against stay there; the others are cut off at their bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tallybayes.arrays.array_types import Floats

__all__ = ["bounded_minimum"]

_STEPS = 200  # at most
_REMEMBERED = 10  # changes of the gradient
_ENOUGH = 1e-4  # of the decrease that the gradient promises (Armijo)
_SHORTEST = 2.0**-20

Function = Callable[[Floats], tuple[float, Floats]]  # the value and its gradient


def bounded_minimum(
    function: Function, start: Floats, *, low: Floats, high: Floats, curvature: Floats, tolerance: float
) -> Floats:
    """The variables that minimise a function; curvature: about the second derivative by each variable.

    tolerance: the relative change of the value at which the search ends.

    >>> function = lambda x: (float((x - 3.0) @ (x - 3.0)), 2 * (x - 3.0))
    >>> bounded_minimum(function, np.zeros(2), low=np.zeros(2), high=np.array([1.0, 9.0]), curvature=np.ones(2),
    ...                 tolerance=1e-9).round(6).tolist()
    [1.0, 3.0]
    """
    at = np.clip(start, low, high)
    value, gradient = function(at)
    memory = _Memory(1.0 / curvature)
    for _ in range(_STEPS):
        free = ~(((at <= low) & (gradient > 0)) | ((at >= high) & (gradient < 0)))
        direction = memory.direction(gradient * free) * free
        length = 1.0
        while True:
            then = np.clip(at + length * direction, low, high)
            new_value, new_gradient = function(then)
            if new_value <= value + _ENOUGH * float(gradient @ (then - at)):
                break
            length *= 0.5
            if length < _SHORTEST:  # nothing but rounding is left
                return at
        memory.add(then - at, new_gradient - gradient)
        is_found = value - new_value <= tolerance * max(abs(value), abs(new_value), 1.0)
        at, value, gradient = then, new_value, new_gradient
        if is_found:
            break
    return at


class _Memory:
    """The last steps and changes of the gradient, from which the inverse curvature is known."""

    def __init__(self, diagonal: Floats) -> None:
        self._diagonal = diagonal
        self._pairs: list[tuple[Floats, Floats, float]] = []  # step, change of the gradient, 1 / their product

    def add(self, step: Floats, change: Floats) -> None:
        product = float(step @ change)
        if product > 1e-12 * float(change @ (self._diagonal * change)):  # else the function is flat along the step
            self._pairs = [*self._pairs[-_REMEMBERED + 1 :], (step, change, 1.0 / product)]

    def direction(self, gradient: Floats) -> Floats:
        """Minus the inverse curvature times a gradient, by the recursion of Nocedal."""
        result, shares = -gradient, []
        for step, change, inverse in reversed(self._pairs):
            share = inverse * float(step @ result)
            result -= share * change
            shares.append(share)
        result *= self._diagonal
        if self._pairs:
            _, change, inverse = self._pairs[-1]
            result /= inverse * float(change @ (self._diagonal * change))
        for (step, change, inverse), share in zip(self._pairs, reversed(shares), strict=True):
            result += (share - inverse * float(change @ result)) * step
        return result
