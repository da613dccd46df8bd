// The workflows that come with weft, with the files of their functions.
#pragma once

#include <string>
#include <string_view>

#include "compiler/weft/workflow/parser.h"
#include "compiler/weft/workflow/workflow.h"
#include "compiler/weft/workflow/workflow_files.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// "kmeans, logistic-regression, naive-bayes, pagerank"
std::string library_names();

struct OpenedWorkflow {
  Workflow workflow;
  WorkflowFiles files;
};

// The workflow in the file `named`, else the one that comes with weft under this name. Errors: there is
// neither; those of parse_workflow().
Result<OpenedWorkflow> open_workflow(const std::string& named, const Settings& settings);

// Writes the workflow and its functions as bitcode into `folder`, which is made if it is not there: what is
// written needs no clang to run. Returns the path of the workflow's file. Errors: those of load_images(); a
// file that cannot be written; the workflow itself lies there, and would be overwritten.
Result<std::string> store_workflow(const OpenedWorkflow& opened, const std::string& clang,
                                   const std::string& folder);

}  // namespace tailor::weft::workflow
