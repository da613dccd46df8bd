// The words of a workflow file, line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct Token {
  enum class Kind : unsigned char { kName, kInteger, kReal, kString, kMark, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;  // of a string: without its quotes
  Place place;
  std::size_t offset = 0;  // in the text
  std::size_t size = 0;    // bytes of the text, with quotes
};

// A line that says something; its last token is of kind kEnd.
using TokenLine = std::vector<Token>;

// Splits the text of `file`. A line ends where it ends, "#" begins a comment. Errors, with file and line: a
// character that no word has, an open string, a text of more than 1 MiB.
Result<std::vector<TokenLine>> read_token_lines(std::string_view text, const std::string& file);

// What a reader sees of a token in an error: "end of line" or the quoted text.
std::string token_text(const Token& token);

}  // namespace tailor::weft::workflow
