#include "viewer/cli/table_directory.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::cli {
namespace {

class DiskTable : public exporter::TableFile {
 public:
  explicit DiskTable(std::string path)
      : path_(std::move(path)), file_(path_, std::ios::binary | std::ios::trunc) {}

  bool is_open() const { return file_.is_open(); }
  Status write(std::string_view bytes) override {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return said();
  }
  Status close() override {
    file_.close();
    return said();
  }

 private:
  Status said() const {
    if (file_) return Ok{};
    return os_error("cannot write " + path_, errno);
  }

  std::string path_;
  std::ofstream file_;
};

}  // namespace

Result<exporter::OpenTable> open_table_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directory(path, failed);
  if (failed) return os_error("cannot make the directory " + path, failed.value());
  if (!std::filesystem::is_directory(path, failed))
    return invalid(path + " is no directory: tables are files of their own, name a directory with -o");
  return exporter::OpenTable([path](const std::string& name) -> Result<std::unique_ptr<exporter::TableFile>> {
    const std::string file = path + "/" + name + ".parquet";
    auto table = std::make_unique<DiskTable>(file);
    if (!table->is_open()) return os_error("cannot write " + file, errno);
    return std::unique_ptr<exporter::TableFile>(std::move(table));
  });
}

}  // namespace tailor::cli
