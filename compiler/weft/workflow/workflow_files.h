// The files that a workflow names, and its functions as LLVM images.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compiler/weft/workflow/udf_library.h"
#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct WorkflowFiles {
  std::string folder;  // of the workflow's file; empty if it comes with weft
  // The bytes of a file that the workflow names. Errors: it cannot be read, or has more than `most`.
  std::function<Result<std::string>(const std::string& path, std::size_t most)> read;
};

// Files named beside `workflow_path`.
WorkflowFiles files_beside(const std::string& workflow_path);

// Errors: it cannot be read, is no file, or has more than `most` bytes.
Result<std::string> read_file_of(const std::string& path, std::size_t most);

// The functions of all files, compiled by `clang` ("" finds one) where they are C++. Errors, with the line
// that names the file: it cannot be read, is neither C++ nor LLVM IR by its name, or clang refuses it.
Result<std::vector<UdfImage>> load_images(const Workflow& workflow, const WorkflowFiles& files,
                                          const std::string& clang);

// Whether a file of functions is C++ by its name, and needs clang.
bool is_cxx(const std::string& path);

}  // namespace tailor::weft::workflow
