#include "viewer/cli/table_directory.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "daemon/store/output_file.h"
#include "proto/base/errors.h"

namespace tailor::cli {
namespace {

class DiskTable : public exporter::TableFile {
 public:
  explicit DiskTable(std::unique_ptr<store::NamedOutput> file) : file_(std::move(file)) {}

  Status write(std::string_view bytes) override { return file_->append(bytes); }
  Status close() override { return file_->complete(); }

 private:
  std::unique_ptr<store::NamedOutput> file_;
};

}  // namespace

Result<exporter::OpenTable> open_table_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directory(path, failed);
  if (failed) return os_error("cannot make the directory " + path, failed.value());
  if (!std::filesystem::is_directory(path, failed))
    return invalid(path + " is no directory: tables are files of their own, name a directory with -o");
  return exporter::OpenTable([path](const std::string& name) -> Result<std::unique_ptr<exporter::TableFile>> {
    auto file = store::open_output(path + "/" + name + ".parquet", {.mode = 0666});
    if (!file) return file.error();
    return std::unique_ptr<exporter::TableFile>(std::make_unique<DiskTable>(*std::move(file)));
  });
}

}  // namespace tailor::cli
