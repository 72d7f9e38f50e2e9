"""What the tokeniser has to know about characters, written as C++ from the interpreter that builds.

So the native kernels agree with the `str` and the `unicodedata` of the Python they are built for, whatever Unicode it
knows. Run by CMake: `python unicode.py tables.cpp`. Every table has two stages: the block of 128 characters a character
is in, and the place within it; equal blocks are kept once. `unicode.h` says what the numbers mean.
"""

import sys
import unicodedata
from pathlib import Path

BLOCK = 128
CHARACTERS = [chr(c) for c in range(sys.maxunicode + 1)]
HANGUL = range(0xAC00, 0xD7A4)  # 11,172 syllables, which unicode.h takes apart by arithmetic


def traits(c: str) -> int:
    """The bits of `Trait` in unicode.h."""
    category = unicodedata.category(c)
    cased = (c + "Σ").lower()[-1] == "ς"  # a final sigma follows a letter that has a case
    passed_over = not cased and f"A{c}Σ".lower()[-1] == "ς"  # and looks past some characters
    bits = (
        c.isalnum() or c == "_",
        category[0] == "M",
        c.isspace(),
        category == "Cf",
        category == "Nd",
        cased,
        passed_over,
    )
    return sum(bit << i for i, bit in enumerate(bits))


def stripped(c: str) -> str:
    """A character without its accents."""
    if c.isascii() or ord(c) in HANGUL:
        return c
    return "".join(part for part in unicodedata.normalize("NFKD", c) if not unicodedata.combining(part))


def two_stages(name: str, values: list[int], kind: str) -> str:
    """A table as C++."""
    blocks: dict[tuple[int, ...], int] = {}
    first = [blocks.setdefault(tuple(values[i : i + BLOCK]), len(blocks)) for i in range(0, len(values), BLOCK)]
    second = [value for block in blocks for value in block]
    return array(f"{name}_block", first, "uint16_t") + array(f"{name}_value", second, kind)


def array(name: str, values: list[int], kind: str) -> str:
    """An array as C++."""
    lines = [",".join(map(str, values[i : i + 24])) for i in range(0, len(values), 24)]
    return f"extern const {kind} {name}[{len(values)}] = {{\n" + ",\n".join(lines) + "};\n"


def main(path: str) -> None:
    """Writes the tables."""
    pool: dict[str, int] = {}

    def target(c: str, becomes: str) -> int:
        """How `Change` in unicode.h writes it: 0 itself, a character, or a length and a place in the pool."""
        if c == becomes:
            return 0
        if len(becomes) == 1 and becomes != "\0":
            return ord(becomes)
        place = pool.setdefault(becomes, sum(map(len, pool)))
        return 1 << 31 | len(becomes) << 24 | place

    tables = [two_stages("trait", [traits(c) for c in CHARACTERS], "uint8_t")]
    for name, change in (("lower", str.lower), ("fold", str.casefold), ("strip", stripped)):
        tables.append(two_stages(name, [target(c, change(c)) for c in CHARACTERS], "uint32_t"))
    tables.append(array("pool", [ord(c) for becomes in pool for c in becomes] or [0], "uint32_t"))
    heading = f"// Unicode {unicodedata.unidata_version}, written by native/text/unicode.py.\n#include <cstdint>\n"
    text = heading + "namespace tb::unicode {\n" + "".join(tables) + "} // namespace tb::unicode\n"
    Path(path).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
