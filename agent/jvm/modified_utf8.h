// Text of Java's, as the JVM hands it to C.
#pragma once

#include <string>
#include <string_view>

namespace tailor::jvm {

// UTF-8 of the JVM's "modified UTF-8" (section 4.4.7 of the Java Virtual Machine Specification): pairs of
// surrogates, which it encodes one by one, become one character. What UTF-8 cannot hold in C's texts becomes
// '?': the character NUL, and a surrogate without its other half. Bytes of another shape stay as they are.
std::string from_modified_utf8(std::string_view text);

}  // namespace tailor::jvm
