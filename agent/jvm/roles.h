// Which of Spark's classes work for operators that have no generated code, by their names.
#pragma once

#include <string>
#include <string_view>

namespace tailor::jvm {

inline constexpr std::string_view kShuffleWrite = "shuffle write", kShuffleRead = "shuffle read";

// What code of the class does: kShuffleWrite, kShuffleRead, or the work of an operator, as the simple name of
// its class ("WindowExec"). "" for all other classes: they work for their callers.
std::string role_of_class(std::string_view class_name);

}  // namespace tailor::jvm
