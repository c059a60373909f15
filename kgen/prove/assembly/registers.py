"""Registers of PTX: what they hold, and from which pointer argument an address starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_REGISTER = re.compile(r"%[a-zA-Z]\w*")
_COMMUTATIVE = ("add", "mul", "and", "or", "xor", "min", "max")
_MEMORY = ("ld", "ldu", "atom", "ldmatrix", "shfl")


@dataclass
class Registers:
    """Definitions by register; `pointers` has the position of each pointer argument by its name."""

    pointers: Mapping[str, int]
    definitions: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)

    def define(self, opcode: str, operands: tuple[str, ...]) -> None:
        """Notes an instruction by its first operand, which it writes."""
        for register in _REGISTER.findall(operands[0]):
            self.definitions.setdefault(register, []).append((opcode, operands[1:]))

    def base(self, address: str) -> int | None:
        """The only pointer argument that takes part in an address; None for none or several."""
        seen: set[str] = set()
        found: set[int] = set()
        waiting = _REGISTER.findall(address)
        while waiting:
            register = waiting.pop()
            if register in seen:
                continue
            seen.add(register)
            for opcode, operands in self.definitions.get(register, ()):
                if opcode.startswith("ld.param"):
                    name = operands[0].strip("[] \t").partition("+")[0].strip()
                    found |= {self.pointers[name]} if name in self.pointers else set()
                elif opcode.partition(".")[0] not in _MEMORY:
                    waiting += _REGISTER.findall(" ".join(operands))
        return found.pop() if len(found) == 1 else None

    def number(self, operand: str) -> int:
        """A number for how an operand is computed, the same for the same; 0 where not known."""
        parts = [part.strip() for part in operand.strip("[]{} \t").split("+")]
        numbers = [self._of(part) for part in parts if part not in ("", "0")]
        if 0 in numbers:
            return 0
        return numbers[0] if len(numbers) == 1 else self._intern(("+", *sorted(numbers)))

    def constant(self, operand: str) -> str:
        """The literal that an operand is or was set to, "" where it is none."""
        text = operand.strip("{} \t")
        for _ in range(8):
            if not text.startswith("%"):
                return _literal(text)
            made = self.definitions.get(text, [])
            if len(made) != 1 or not made[0][0].startswith("mov"):
                return ""
            text = made[0][1][0].strip("{} \t")
        return ""

    def _of(self, operand: str) -> int:
        if not operand.startswith("%"):
            return self._intern(("literal", operand))
        if operand in self._known:
            return self._known[operand]
        self._known[operand] = 0  # what is computed from itself is not known
        made = self.definitions.get(operand, [])
        if not made:
            number = self._intern(("special", operand))
        elif len(made) > 1 or made[0][0].partition(".")[0] in _MEMORY[1:]:
            number = 0
        else:
            number = self._computed(*made[0])
        self._known[operand] = number
        return number

    def _computed(self, opcode: str, operands: tuple[str, ...]) -> int:
        if opcode.startswith("ld."):
            return self._intern((opcode, operands)) if opcode.startswith("ld.param") else 0
        numbers = [self._of(operand.strip()) for operand in operands]
        if 0 in numbers:
            return 0
        if opcode.partition(".")[0] in _COMMUTATIVE:
            numbers.sort()
        return self._intern((opcode, *numbers))

    def _intern(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def _literal(text: str) -> str:
    try:
        return str(int(text, 0))
    except ValueError:
        return ""
