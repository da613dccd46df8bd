#include "viewer/cli/status_json.h"

#include <google/protobuf/util/json_util.h>

#include "proto/base/errors.h"

namespace tailor::cli {

Result<std::string> status_json(const v1::DaemonStatus& status) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  const auto done = google::protobuf::util::MessageToJsonString(status, &out, options);
  if (!done.ok()) return internal("cannot print the status: " + std::string(done.message()));
  return out;
}

}  // namespace tailor::cli
