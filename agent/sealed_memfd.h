// Memory files for what is too large for a packet, or shared. A host may have limited the size of files
// (RLIMIT_FSIZE), which counts for memory files too, and exceeding it would end the process by SIGXFSZ: no
// function here lets that signal reach the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tailor::agent {

// A memfd that can be sealed, or -1 with errno.
int create_memfd(const char* name) noexcept;

// Gives a memory file its size. False, with errno (EFBIG: above the limit of this process).
bool set_file_size(int fd, std::uint64_t bytes) noexcept;

// The largest file that this process may make.
std::uint64_t file_size_limit() noexcept;

// A memfd with these bytes, sealed against every change, or -1 with errno. The caller closes it.
int make_sealed_memfd(std::span<const char> bytes) noexcept;

}  // namespace tailor::agent
