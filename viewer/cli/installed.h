// What an installation has beside the programs: documents and rule files, below the same prefix.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tailor::cli {

// ".../share" for a program ".../bin/tailor"; empty where the kernel does not say which file runs.
std::filesystem::path share_directory();

// `text` with the installed place of each page that it calls "docs/NAME.md" and that lies in `documents`.
// Messages name pages in parentheses. A file of that name elsewhere in the text is one that the user named.
// What is not there stays as it is: in a build folder the words name files of the source.
std::string with_document_paths(std::string_view text, const std::filesystem::path& documents);
// The same with the documents of this installation.
std::string with_document_paths(std::string_view text);

// The rule file that is meant by `name`: the file of that path, else, for a name without a directory, the
// installed one of that name, with ".toml" or without. `name` itself where there is none.
std::string find_rules(const std::string& name, const std::filesystem::path& installed);
std::string find_rules(const std::string& name);

}  // namespace tailor::cli
