"""Reads files as what their names say they are, and prints why one cannot be read.

Gets the paths, and prints one JSON object: the reason by path, or null.
"""

import ast
import csv
import gzip
import io
import json
import struct
import sys
import tarfile
import wave
import zipfile
import zlib
from xml.etree import ElementTree

SIGNATURES = {
    "bmp": b"BM",
    "flac": b"fLaC",
    "gif": b"GIF8",
    "jpeg": b"\xff\xd8\xff",
    "jpg": b"\xff\xd8\xff",
    "mid": b"MThd",
    "midi": b"MThd",
    "ogg": b"OggS",
    "pdf": b"%PDF-",
    "sqlite": b"SQLite format 3\0",
    "tif": (b"II*\0", b"MM\0*"),
    "tiff": (b"II*\0", b"MM\0*"),
    "webp": b"RIFF",
}
TEXTS = {
    "txt",
    "md",
    "rst",
    "html",
    "htm",
    "ics",
    "sql",
    "log",
    "yaml",
    "yml",
    "ini",
    "css",
    "js",
    "bib",
    "tex",
}
MARKUP = {"xml", "svg", "gpx", "kml", "xhtml", "rss"}
ARCHIVES = {"zip", "xlsx", "docx", "pptx", "epub", "odt", "ods", "whl", "jar"}
TABLES = {"csv": ",", "tsv": "\t"}


def text_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    if not text.strip():
        raise ValueError("it has no text")
    return text


def read_png(path):
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ValueError("it is no PNG")
    at, pixels, ended = 8, zlib.decompressobj(), False
    while at < len(data) and not ended:
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (sum_,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        if zlib.crc32(kind + body) != sum_:
            raise ValueError("a checksum is wrong")
        if kind == b"IDAT":
            pixels.decompress(body)
        ended = kind == b"IEND"
        at += 12 + size
    if not ended or not pixels.eof:
        raise ValueError("it is cut off")


def read(path):
    ending = path.rsplit(".", 1)[-1].lower()
    with open(path, "rb") as file:
        start = file.read(32)
    if not start:
        raise ValueError("it is empty")
    if ending in ("json", "geojson"):
        json.loads(text_of(path))
    elif ending in ("jsonl", "ndjson"):
        # Other line ends may be inside of a string of JSON.
        for line in text_of(path).split("\n"):
            if line.strip():
                json.loads(line)
    elif ending in TABLES:
        text = text_of(path)
        if "\0" in text:
            raise ValueError("it has null characters")
        csv.field_size_limit(1 << 30)
        list(csv.reader(io.StringIO(text, newline=""), delimiter=TABLES[ending], strict=True))
    elif ending in MARKUP:
        ElementTree.parse(path)
    elif ending == "py":
        ast.parse(text_of(path))
    elif ending in TEXTS:
        text_of(path)
    elif ending in ARCHIVES:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
        if bad is not None:
            raise ValueError(f"{bad} in it is damaged")
    elif ending in ("tar", "tgz"):
        with tarfile.open(path) as archive:
            archive.getmembers()
    elif ending == "gz":
        with gzip.open(path) as file:
            while file.read(1 << 20):
                pass
    elif ending == "wav":
        with wave.open(path) as sound:
            sound.readframes(sound.getnframes())
    elif ending == "png":
        read_png(path)
    elif ending in SIGNATURES and not start.startswith(SIGNATURES[ending]):
        raise ValueError(f"it does not begin as a file of {ending} does")


def reason(path):
    try:
        read(path)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return None


print(json.dumps({path: reason(path) for path in sys.argv[1:]}))
