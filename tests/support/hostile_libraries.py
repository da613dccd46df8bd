"""Libraries whose unwind tables mean harm: their bytes, and their code in this process."""
import ctypes
import mmap
import struct

PAGE = 4096
LOOP = b"\x48\xff\xcf\x75\xfb\xc3"  # dec %rdi; jnz; ret: it counts down
# Of .eh_frame, with its length: what all entries of functions have in common.
COMMON_ENTRY = struct.pack("<IIB3sBbBBB", 16, 0, 1, b"zR\0", 1, 0x78, 16, 1, 2) + b"\x0c\x07\x08"


def executable_page(libc, file):
    """Its second page, mapped."""
    address = libc.mmap(None, PAGE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file, PAGE)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "the library is not mapped")
    return address


def with_mmap():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


def library_with(table, code=LOOP):
    """An ELF file whose code lies at PAGE, with this .eh_frame at 2 * PAGE."""
    header = 64 + 2 * 56  # of the table, behind the program headers
    out = bytearray(2 * PAGE) + table
    out[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    out[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(out), len(out), PAGE)
    out[120:176] = struct.pack("<IIQQQQQQ", 0x6474E550, 4, header, header, header, 16, 16, 4)
    out[header:header + 8] = struct.pack("<BBBBI", 1, 3, 0xFF, 0xFF, 2 * PAGE)
    out[PAGE:PAGE + len(code)] = code
    return bytes(out)


def unwind_table(size, instructions=b""):
    """.eh_frame of functions of two bytes each, as many as fit: an entry that is common to all, and one for each, with these
    instructions."""
    table = bytearray(COMMON_ENTRY)
    number = 0
    while len(table) < size:
        number += 1
        table += function_entry(len(table), number * 40503 & 0xFFFF, 2, instructions)
    return bytes(table)


def function_entry(at, address, size, instructions):
    """Of a table, at this place in it."""
    return struct.pack("<IIHHB", 9 + len(instructions), at + 4, address, size, 0) + instructions
