// Takes literals out of query texts. A lexer that knows what quotes, numbers and comments look like in the
// SQL of PostgreSQL, Spark, MySQL and the like, and no grammar: a parser refuses what is not its own dialect,
// and a refused text could not be kept at all. Where dialects disagree, more is taken out rather than less.
#pragma once

#include <string>
#include <string_view>

namespace tailor::redact {

// What double quotes stand around: names in standard SQL, strings in MySQL and Spark.
enum class DoubleQuotes { kLiteral, kName };

// The text with every literal replaced by "?": strings ('..', E'..', X'..', $tag$..$tag$; to the end of the
// text where they do not end) numbers, and dates without quotes. Comments are taken out: they may hold
// anything. A quote behind a backslash ends the string in one dialect and not in another, so everything from
// the begin of that string on is taken out. Names ("t1", "l_tax"), parameters ($1, :p, ?) and keywords stay.
// Total; linear time; not longer than the input.
std::string without_literals(std::string_view sql, DoubleQuotes quotes = DoubleQuotes::kLiteral);

// For names that engines give: words and numbers ("tpch-3", "build 2") stay as they are, unless they begin as
// a query does; anything with other characters is taken for a query's text.
std::string name_without_literals(std::string_view name, DoubleQuotes quotes = DoubleQuotes::kLiteral);

// One line to compare queries by: without literals, a list of them as one, white space as a blank between
// words and as nothing elsewhere, lower case outside of quoted names.
std::string normalised(std::string_view sql, DoubleQuotes quotes = DoubleQuotes::kLiteral);

}  // namespace tailor::redact
