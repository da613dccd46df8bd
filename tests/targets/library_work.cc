// Ordinary code that knows nothing of tags, in the C and C++ libraries for ever: what is in registers there
// is what tags must not be mistaken for.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

std::uint64_t state = 88172645463325252;
std::uint64_t draw() {
  return state ^= state << 13, state ^= state >> 7, state ^= state << 17;
}

std::size_t containers() {
  std::map<std::string, std::uint64_t> tree;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> table;
  for (int i = 0; i < 200; ++i) {
    tree[std::to_string(draw())] += draw();
    table[draw() % 50].push_back(draw());
  }
  std::vector<std::uint64_t> all;
  for (auto& [key, values] : table) {
    std::sort(values.begin(), values.end());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all.size() + tree.size();
}

std::size_t texts() {
  std::ostringstream out;
  for (int i = 0; i < 50; ++i) out << draw() << ' ' << static_cast<double>(draw()) / 3 << '\n';
  const std::string text = out.str();
  static const std::regex digits("([0-9]+)7 ");
  std::size_t found = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), digits), end; it != end; ++it) ++found;
  return found;
}

int compare(const void* a, const void* b) {
  return std::memcmp(a, b, 8);
}

std::size_t c_library() {
  std::vector<void*> held;
  char line[128];
  std::size_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    held.push_back(std::malloc(1 + draw() % 5000));
    std::memset(held.back(), i, 1);
    sum += static_cast<std::size_t>(std::snprintf(line, sizeof line, "%lu %f %s", draw(), 1.0 / i, "text"));
    sum += static_cast<std::size_t>(std::strtod(line, nullptr));
  }
  std::vector<std::uint64_t> numbers(300);
  std::generate(numbers.begin(), numbers.end(), draw);
  std::qsort(numbers.data(), numbers.size(), 8, compare);
  for (void* memory : held) std::free(memory);
  return sum;
}

std::size_t exceptions() {
  try {
    if (state % 2 < 2) throw std::runtime_error(std::to_string(state));
  } catch (const std::exception& error) {
    return std::strlen(error.what());
  }
  return 0;
}

}  // namespace

int main() {
  volatile std::size_t sum = 0;
  for (;;) sum = sum + containers() + texts() + c_library() + exceptions();
}
