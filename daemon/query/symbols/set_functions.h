// Names for functions without one, by the function that puts their address somewhere. A stripped file names
// only what it exports. Where an exported function makes an object and puts the address of a hidden one into
// it, the hidden one is a method of that object. A function may end with a jump to another one, which
// works for it too, and takes the place of its frame.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/found_functions.h"

namespace tailor::query {

// The name of a function that `setter` leads to.
std::string set_by(const std::string& setter);

// Adds the functions of `file` that have no name in `functions` and whose address is formed, or jumped to, in
// a function whose name fits one of `setters` (name_pattern.h), or in a function that was found in this way.
// An address counts as formed, too, where it stands among constants that a vector register is loaded with.
// A function that several setters lead to stays without a name. Functions begin where the unwind table of the
// file says (.eh_frame_hdr, Linux Standard Base Core 5.0, section 10.6.2); without it nothing is added. Only
// x86-64. The content is hostile: what is read and kept is bounded.
void name_set_functions(const ElfFile& file, const std::vector<std::string>& setters,
                        ElfFunctions& functions);

}  // namespace tailor::query
