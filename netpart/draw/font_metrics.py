"""Font of all drawings, and the widths of its letters, so that texts can be measured without the font.

Widths are those of DejaVu Sans, which Linux has. Verdana, which Windows and macOS have, differs by at most 3 percent.
The usual substitutes are narrower, so a box for these widths holds its text in every viewer.
"""

from __future__ import annotations

FAMILY = "DejaVu Sans, Verdana, Geneva, sans-serif"
MEASURED = "DejaVu Sans"
"""The font name that Graphviz gets, as it does not accept a list of names."""

WIDE = 1000
"""Width of a letter that is in no table, such as an ideograph."""


def _width_table(widths: dict[int, str]) -> dict[str, int]:
    return {letter: width for width, letters in widths.items() for letter in letters}


PLAIN = _width_table({
    275: "'", 278: "ijl", 295: "IJ", 318: " ,.·\u00a0", 337: "/:;\\|", 352: "f", 361: "-", 390: "()[]", 392: "t",
    401: "!²", 411: "r", 460: '"', 500: "*_`–°", 521: "s", 525: "z", 531: "?", 550: "c", 557: "L", 575: "F", 579: "k",
    592: "vxy", 603: "P", 611: "TY", 612: "o", 613: "a", 615: "eé", 632: "EΣ", 634: "hnu", 635: "Sbdgpq",
    636: "$0123456789{}µ", 656: "K", 684: "AV", 685: "XZ", 686: "B", 695: "R", 698: "C", 732: "U", 748: "N", 752: "H",
    770: "D", 775: "G", 780: "&", 787: "OQ", 818: "w", 838: "#+<=>^~×↓↑→≤⇐⇒", 863: "M", 950: "%", 974: "m", 989: "W",
})  # fmt: skip
"""Widths of regular letters in thousandths of the font size."""

BOLD = _width_table({
    306: "'", 343: "ijl", 348: " \u00a0", 365: "/\\|", 372: "IJ", 380: ",.·", 400: ":;", 415: "-", 435: "f", 438: "²",
    456: "!", 457: "()[]", 478: "t", 493: "r", 500: "_`–°", 521: '"', 523: "*", 580: "?", 582: "z", 593: "c", 595: "s",
    637: "L", 645: "x", 652: "vy", 665: "k", 675: "a", 678: "eé", 682: "T", 683: "EFΣ", 687: "o", 696: "$0123456789",
    712: "hnu{}", 716: "bdgpq", 720: "S", 724: "Y", 725: "Z", 733: "P", 734: "C", 736: "µ", 762: "B", 770: "R",
    771: "X", 774: "AV", 775: "K", 812: "U", 821: "G", 830: "D", 837: "HN", 838: "#+<=>^~×↓↑→≤⇐⇒", 850: "OQ", 872: "&",
    924: "w", 995: "M", 1002: "%", 1042: "m", 1103: "W",
})  # fmt: skip
"""Widths of bold letters in thousandths of the font size."""


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Width of a line of ``text`` in font size ``size``, in the unit of ``size``."""
    table = BOLD if bold else PLAIN
    return sum(table.get(letter, WIDE) for letter in text) * size / 1000


def widest_text(lines: list[str], size: float, bold: bool = False) -> float:
    """Width of the widest of ``lines``, 0 without lines."""
    return max((text_width(line, size, bold) for line in lines), default=0.0)


def truncate_text(text: str, size: float, room: float, bold: bool = False) -> str:
    """``text``, or as much of its beginning as fits into the width ``room`` with an ellipsis after it."""
    if text_width(text, size, bold) <= room:
        return text
    kept = text
    while kept and text_width(f"{kept}…", size, bold) > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if kept else ""


def wrap_text(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    """``text`` in lines that fit into the width ``room``, broken at spaces; a wider word has a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size, bold) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
