// A connection whose requests are a text, for tests of the HTTP transport.
#pragma once

#include <algorithm>
#include <string>

#include "daemon/serve/http/http_server.h"

namespace tailor::test {

class TextStream : public serve::ByteStream {
 public:
  // After `most` bytes of an answer the client has gone.
  explicit TextStream(std::string input, std::size_t most = SIZE_MAX)
      : input_(std::move(input)), most_(most) {}
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = std::min(size, input_.size() - at_);
    std::copy_n(input_.begin() + static_cast<std::ptrdiff_t>(at_), n, to);
    at_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (!writable()) return -1;
    output.append(from, size);
    return static_cast<ssize_t>(size);
  }
  bool readable() const override { return at_ < input_.size(); }
  bool writable() const override { return output.size() < most_; }
  bool closed_by_peer() const override { return false; }

  std::string output;

 private:
  std::string input_;
  std::size_t at_ = 0, most_;
};

}  // namespace tailor::test
