// A .tailor file as a ProfileSink.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/store/block_writer.h"
#include "daemon/store/encoder.h"
#include "daemon/store/file_io.h"
#include "daemon/store/output_file.h"
#include "proto/base/result.h"

namespace tailor::store {

// Everything given to it is in the file, readable at any time up to the last flush, which comes at least once
// a second of the watermark. Write errors do not surface from the sink calls: what was lost is in stats()
// and, as soon as there is room, in the file. Names of functions that no reader has room for (NamesRoom) are
// left out, and the file says how many. One thread.
class FileWriter : public ProfileEncoder {
 public:
  // Fails where open_output() does.
  static Result<std::unique_ptr<FileWriter>> create(const std::string& path, const OutputOptions& output = {},
                                                    EncoderOptions options = {});
  // Writes to `output` instead (tests).
  static std::unique_ptr<FileWriter> on(std::unique_ptr<Output> output, EncoderOptions options = {});

  // The recording has begun: with OutputOptions::kWhenBegun the file takes its name as soon as something is
  // in it. Any thread may call it.
  void begin() {
    if (named_ != nullptr) named_->begin();
  }

  // Completes the file and makes it durable. Without it (a crash) the file is readable and says that its end
  // is missing. Fails if anything, now or before, could not be written. Nothing may be given afterwards.
  Status finish();

  const WriteStats& stats() const { return blocks_->stats(); }

 private:
  // The encoder holds a reference to this while both are parts of the writer.
  struct Blocks : BlockSink {
    explicit Blocks(std::unique_ptr<Output> output) : writer(std::move(output), FileHeader{}) {}
    std::optional<std::uint64_t> block(BlockType type, std::string_view raw,
                                       const BlockContent& content) override {
      return writer.write(type, raw, content);
    }
    std::optional<std::uint64_t> written() const override { return writer.stats().bytes; }
    const WriteStats& stats() const { return writer.stats(); }
    BlockWriter writer;
  };

  FileWriter(std::unique_ptr<Blocks> blocks, EncoderOptions options);

  std::unique_ptr<Blocks> blocks_;
  NamedOutput* named_ = nullptr;  // of blocks_; NULL with on()
};

}  // namespace tailor::store
