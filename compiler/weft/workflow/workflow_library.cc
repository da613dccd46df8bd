#include "compiler/weft/workflow/workflow_library.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "proto/base/errors.h"

namespace tailor::weft::workflow {
namespace {

constexpr std::size_t kMostWorkflow = std::size_t{1} << 20;
constexpr std::string_view kEnding = ".wf";

struct LibraryFile {
  std::string_view name;
  std::string_view text;
};

constexpr LibraryFile kFiles[] = {
// One entry a file of compiler/weft/workflow/library, written by the build.
#include "weft_workflows.inc"
};

const LibraryFile* find_file(std::string_view name) {
  for (const LibraryFile& file : kFiles)
    if (file.name == name) return &file;
  return nullptr;
}

WorkflowFiles library_files() {
  WorkflowFiles files;
  files.read = [](const std::string& path, std::size_t) -> Result<std::string> {
    const LibraryFile* file = find_file(path);
    if (file == nullptr) return not_found(fmt::format("no file {} comes with weft", path));
    return std::string(file->text);
  };
  return files;
}

bool is_there(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Status write_file(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (out.fail()) return os_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)), errno);
  return Ok{};
}

// The last part of a path.
std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Names of bitcode files, one an image, each once.
std::vector<std::string> bitcode_names(const std::vector<UdfImage>& images) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const UdfImage& image : images) {
    const std::string stem = std::filesystem::path(image.name).stem().string();
    const std::string ending = image.name.ends_with(".ll") ? ".ll" : ".bc";
    std::string name = stem + ending;
    for (unsigned i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}{}", stem, i, ending);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::string library_names() {
  std::string names;
  for (const LibraryFile& file : kFiles) {
    if (!file.name.ends_with(kEnding)) continue;
    if (!names.empty()) names += ", ";
    names += file.name.substr(0, file.name.size() - kEnding.size());
  }
  return names;
}

Result<OpenedWorkflow> open_workflow(const std::string& named, const Settings& settings) {
  OpenedWorkflow opened;
  std::string text, name = named;
  if (is_there(named)) {
    auto read = read_file_of(named, kMostWorkflow);
    if (!read.ok()) return std::move(read).error();
    text = std::move(*read);
    opened.files = files_beside(named);
  } else {
    name = named + std::string(kEnding);
    const LibraryFile* file = find_file(name);
    if (file == nullptr) {
      return not_found(
          fmt::format("there is no file {}, and no workflow of that name comes with weft: it has {}", named,
                      library_names()));
    }
    text = std::string(file->text);
    opened.files = library_files();
  }
  auto workflow = parse_workflow(text, name, settings);
  if (!workflow.ok()) return std::move(workflow).error();
  opened.workflow = std::move(*workflow);
  return opened;
}

Result<std::string> store_workflow(const OpenedWorkflow& opened, const std::string& clang,
                                   const std::string& folder) {
  const Workflow& workflow = opened.workflow;
  auto images = load_images(workflow, opened.files, clang);
  if (!images.ok()) return std::move(images).error();
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return os_error(fmt::format("cannot make the folder {}: {}", folder, problem.message()), problem.value());
  const std::string path = folder + "/" + file_name(workflow.file);
  // Unknown where one of them is not there, as with a workflow that comes with weft.
  const bool itself = std::filesystem::equivalent(path, workflow.file, problem);
  if (itself && !problem)
    return invalid(fmt::format("{} would be overwritten: take another folder for what is kept", path));
  const std::vector<std::string> names = bitcode_names(*images);
  std::string text = workflow.text;
  // From the last one, so that places before it stay. An image is there for each file, in the same order.
  for (std::size_t i = workflow.udfs.size(); i-- > 0;) {
    text.replace(workflow.udfs[i].offset, workflow.udfs[i].size, "\"" + names[i] + "\"");
    if (Status written = write_file(folder + "/" + names[i], (*images)[i].bytes); !written.ok())
      return std::move(written).error();
  }
  if (Status written = write_file(path, text); !written.ok()) return std::move(written).error();
  return path;
}

}  // namespace tailor::weft::workflow
