#include "daemon/store/file_writer.h"

#include <fmt/format.h>

#include "proto/base/errors.h"

namespace tailor::store {

FileWriter::FileWriter(std::unique_ptr<Blocks> blocks, EncoderOptions options)
    : ProfileEncoder(*blocks, options), blocks_(std::move(blocks)) {}

Result<std::unique_ptr<FileWriter>> FileWriter::create(const std::string& path, const OutputOptions& output,
                                                       EncoderOptions options) {
  auto opened = open_output(path, output);
  if (!opened) return opened.error();
  NamedOutput* const named = opened->get();
  auto writer = on(*std::move(opened), options);
  writer->named_ = named;
  return writer;
}

std::unique_ptr<FileWriter> FileWriter::on(std::unique_ptr<Output> output, EncoderOptions options) {
  return std::unique_ptr<FileWriter>(new FileWriter(std::make_unique<Blocks>(std::move(output)), options));
}

Status FileWriter::finish() {
  ProfileEncoder::finish();
  if (auto ok = blocks_->writer.finish(); !ok) return ok;
  if (named_ != nullptr) {
    if (auto ok = named_->complete(); !ok) return ok;
  }
  const WriteStats& s = stats();
  if (s.lost_blocks == 0) return Ok{};
  return internal(
      fmt::format("the profile is incomplete: {} blocks with {} samples could not be written ({})",
                  s.lost_blocks, s.lost_samples, s.loss_reason));
}

}  // namespace tailor::store
