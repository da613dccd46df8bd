// Any bytes as a query's text: no crash, no more than was there, and what came out has no literals left.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/redact/sql_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::redact;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (DoubleQuotes quotes : {DoubleQuotes::kName, DoubleQuotes::kLiteral}) {
    const std::string out = without_literals(text, quotes);
    if (out.size() > text.size() + 1) std::abort();
    if (out.find('\'') != std::string::npos) std::abort();
    if (normalised(text, quotes).size() > text.size() + 1) std::abort();
  }
  return 0;
}
