"""What a peer does not do at all."""

from __future__ import annotations


class NotOffered(NotImplementedError):
    """The peer's kernels do not do this shape or problem: there it is no peer.

    Torch raises `NotImplementedError` where something went wrong, so that this has a name of its own.
    """
