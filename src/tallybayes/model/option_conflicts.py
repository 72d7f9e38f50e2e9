"""Options of `fit` of which one would silently take the place of another: errors that name both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tallybayes.errors import Described, ParameterError
from tallybayes.formatting import number
from tallybayes.model.joint_columns import Groups, group_name
from tallybayes.state.options import OPTIONS
from tallybayes.state.prior_values import Dirichlet
from tallybayes.state.settings import Settings

__all__ = ["check_excluded_members", "check_strengths_of_priors"]


def check_strengths_of_priors(options: Mapping[str, Any], settings: Settings) -> None:
    """Raise a ParameterError for a smoothing that was given beside a prior which takes its place.

    options: those that were given, before presets and defaults.
    """
    class_smoothing = options.get("class_smoothing")
    is_given = class_smoothing not in (None, OPTIONS["class_smoothing"].default)
    if isinstance(settings.class_prior, Dirichlet) and is_given:
        hint = "the pseudo-counts of class_prior take the place of class_smoothing"
        raise ParameterError("class_prior=tb.Dirichlet(...) or class_smoothing", got=Described("both"), hint=hint)
    smoothing = options.get("smoothing")
    for name in smoothing if isinstance(smoothing, Mapping) else ():
        prior = settings.prior_of(name)
        if prior is not None and prior.smoothing is not None:
            hint = f"the smallest pseudo-count of {prior}, {number(prior.smoothing)}, is the smoothing of the column"
            raise ParameterError("a prior or a smoothing of a column", got=Described("both"), column=name, hint=hint)


def check_excluded_members(groups: Groups, ignore: Collection[str] | None, only: Collection[str] | None) -> None:
    """Raise a ParameterError for a column that is in a group and excluded by `ignore` or `only`.

    An empty `only` leaves no column but those whose family was given.
    """
    for names, family in groups.items():
        for name in names:
            if name in (ignore or ()):
                option, hint = "ignore", f"remove {name!r} from the group, or from ignore"
            elif only and name not in only:
                option, hint = "only", f"remove {name!r} from the group, or add it to only"
            else:
                continue
            expected = f"columns that are used in the group {group_name(names)!r} ({family.name})"
            got = Described(f"{name!r}, which {option}= excludes")
            raise ParameterError(expected, got=got, hint=hint)
