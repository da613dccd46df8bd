// Any bytes as what a client of the HTTP interface sends, by a client that may see everything.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "daemon/serve/http/http_server.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::test {
namespace {

class Bytes : public serve::ByteStream {
 public:
  explicit Bytes(std::string_view input) : input_(input) {}
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t n = std::min(size, input_.size());
    std::copy_n(input_.begin(), n, to);
    input_.remove_prefix(n);
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char*, std::size_t size) override { return static_cast<ssize_t>(size); }
  bool readable() const override { return !input_.empty(); }
  bool writable() const override { return true; }
  bool closed_by_peer() const override { return false; }

 private:
  std::string_view input_;
};

struct World {
  World() {
    std::ofstream(path) << profile_bytes([](auto& sink) { give_profile(sink, 2); });
    library = serve::open_file_library(path);
    service = std::make_unique<serve::Service>(*library, serve::ServiceOptions{"fuzz", {}});
    server = serve::HttpServer::without_listeners(*service, {});
  }
  ~World() { ::unlink(path.c_str()); }
  std::string path = "/tmp/tailor_http_fuzz." + std::to_string(::getpid());
  std::unique_ptr<serve::Library> library;
  std::unique_ptr<serve::Service> service;
  std::unique_ptr<serve::HttpServer> server;
};

}  // namespace
}  // namespace tailor::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static tailor::test::World world;
  tailor::test::Bytes bytes({reinterpret_cast<const char*>(data), size});
  const tailor::serve::Peer peer{true, ::geteuid(), false};
  for (int i = 0; i < 4 && bytes.readable(); ++i) {
    if (!world.server->serve_one(bytes, peer)) break;
  }
  return 0;
}
