"""PDF files written object by object, for what no library would write."""

from __future__ import annotations

from pathlib import Path

CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def raw_pdf(path: Path, *objects: bytes) -> Path:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table
    data += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    path.write_bytes(data)
    return path


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<<" + entries + b"/Length %d>>stream\n" % len(data) + data + b"\nendstream"


def page_tree(kids: int, count: int | None = None, entries: bytes = b"", first: int = 3) -> bytes:
    """The page tree over ``kids`` pages that are the objects from ``first`` on."""
    references = b" ".join(b"%d 0 R" % number for number in range(first, first + kids))
    return b"<</Type/Pages/MediaBox[0 0 600 800]/Kids[%s]/Count %d%s>>" % (
        references,
        kids if count is None else count,
        entries,
    )


def one_page(path: Path, content: bytes, resources: bytes = b"", *others: bytes) -> Path:
    """A PDF of one page with this content stream; further objects are numbered from 5."""
    page = b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<%s>>>>" % resources
    return raw_pdf(path, CATALOG, page_tree(1), page, stream(content), *others)


def with_code_map(path: Path, text: bytes, code_map: bytes) -> Path:
    """A page that shows ``text`` in a font whose map to Unicode holds ``code_map``."""
    whole = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def "
        b"1 begincodespacerange <00> <FF> endcodespacerange " + code_map + b" endcmap end end"
    )
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>"
    content = b"BT /F 12 Tf 72 700 Td (" + text + b") Tj ET"
    return one_page(path, content, b"/Font<</F 5 0 R>>", font, stream(whole))


IMAGE = stream(
    b"\x00\xff\x80\x10",
    b"/Type/XObject/Subtype/Image/Width 2/Height 2/ColorSpace/DeviceGray/BitsPerComponent 8",
)


def nested_forms(path: Path, levels: int, word: bytes = b"BT /F 9 Tf 72 700 Td (revenue) Tj ET") -> Path:
    """A page of ``10 ** levels`` words in some 2,000 bytes: forms that draw the next one ten times each.

    Without a ``word`` it takes time alone, with nine levels an hour.
    """
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<<%s>>"
    forms = [stream(b"/X Do " * 10, form % b"/XObject<</X %d 0 R>>" % (6 + n)) for n in range(levels)]
    words = stream(word, form % b"/Font<</F %d 0 R>>" % (6 + levels))
    return one_page(path, b"/X Do", b"/XObject<</X 5 0 R>>", *forms, words, FONT)
