#include "compiler/weft/workflow/workflow_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "compiler/weft/workflow/clang.h"
#include "proto/base/errors.h"

namespace tailor::weft::workflow {
namespace {

constexpr std::size_t kMostSource = std::size_t{64} << 20;

bool is_image(const std::string& path) {
  return path.ends_with(".bc") || path.ends_with(".ll");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

}  // namespace

bool is_cxx(const std::string& path) {
  for (const char* ending : {".cc", ".cpp", ".cxx", ".C", ".c++"})
    if (path.ends_with(ending)) return true;
  return false;
}

Result<std::string> read_file_of(const std::string& path, std::size_t most) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return os_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno);
  if (!S_ISREG(info.st_mode)) return invalid(fmt::format("{} is no file", path));
  if (static_cast<std::uint64_t>(info.st_size) > most)
    return exhausted(fmt::format("{} has {} bytes, and may have {}", path, info.st_size, most));
  std::ifstream in(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.bad() || !in.is_open()) return internal(fmt::format("cannot read {}", path));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

WorkflowFiles files_beside(const std::string& workflow_path) {
  WorkflowFiles files;
  files.folder = folder_of(workflow_path);
  files.read = [folder = files.folder](const std::string& path, std::size_t most) {
    return read_file_of(path.starts_with('/') ? path : folder + "/" + path, most);
  };
  return files;
}

Result<std::vector<UdfImage>> load_images(const Workflow& workflow, const WorkflowFiles& files,
                                          const std::string& clang) {
  std::vector<UdfImage> images;
  std::string compiler;
  for (const UdfFile& file : workflow.udfs) {
    const auto at_line = [&](const Error& error) {
      return in_context(fmt::format("{}:{}:{}: ", workflow.file, file.place.line, file.place.column), error);
    };
    if (!is_cxx(file.path) && !is_image(file.path)) {
      return error_at(
          workflow.file, file.place,
          fmt::format("\"{}\" has no known ending: functions are C++ (.cc, .cpp, .cxx) or LLVM IR (.ll, .bc)",
                      file.path));
    }
    auto bytes = files.read(file.path, kMostSource);
    if (!bytes.ok()) return at_line(bytes.error());
    if (is_cxx(file.path)) {
      if (compiler.empty()) {
        auto found = find_clang(clang);
        if (!found.ok()) return at_line(found.error());
        compiler = *found;
      }
      bytes = compile_cxx(compiler, {file.path, files.folder, *bytes});
      if (!bytes.ok()) return at_line(bytes.error());
    }
    images.push_back({file.path, std::move(*bytes), file.place});
  }
  return images;
}

}  // namespace tailor::weft::workflow
