"""Changes rows of a store's catalogue while no tailord runs. Python's SQLite leaves the checksums of the pages as they were, so
they are made again: a page ends with its number and the CRC-32C of what is before (docs/profile-format.md)."""
import contextlib
import sqlite3

PAGE = 4096


def _table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = list(_table())


def crc32c(data):
    """RFC 3720, appendix B.4."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def seal(data):
    """The file with right checksums."""
    out = bytearray()
    for number, at in enumerate(range(0, len(data), PAGE), 1):
        summed = data[at:at + PAGE - 8] + number.to_bytes(4, "little")
        out += summed + crc32c(summed).to_bytes(4, "little")
    return bytes(out)


@contextlib.contextmanager
def changed_rows(store):
    path = store / "catalogue.sqlite"
    before = path.read_bytes()
    assert seal(before) == before, f"{path} has the checksums of its pages"
    with contextlib.closing(sqlite3.connect(path)) as catalogue:
        yield catalogue
        catalogue.commit()
    path.write_bytes(seal(path.read_bytes()))
