"""A memory that finds its own length: several half-lives, weighted by how well they predict."""

from streamchi2.memory.ladder import (
    BLOCK_ROWS,
    HALF_LIVES,
    MemoryLadder,
    MemoryParams,
    Remembered,
)

__all__ = ["BLOCK_ROWS", "HALF_LIVES", "MemoryLadder", "MemoryParams", "Remembered"]
