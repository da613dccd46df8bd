// Functions in which programs and threads begin: a call chain that leads to one of them is whole.
#pragma once

#include <string_view>

namespace tailor::query {

// By its name, as the C libraries, the dynamic loader, Go and the kernel have it. A program's own name does
// not count, but main(), which what begins a program calls.
bool begins_thread(std::string_view function);

}  // namespace tailor::query
