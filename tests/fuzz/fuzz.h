// What fuzz targets share. A target is a file with LLVMFuzzerTestOneInput, which libFuzzer calls with whatever it makes
// of the seeds in corpus/TARGET (scripts/fuzz.sh), and replay.cc with the seeds alone.
#ifndef LANISTA_TESTS_FUZZ_FUZZ_H_
#define LANISTA_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lanista::fuzz {

// Ends the program where what must always hold does not.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Takes an input apart from its beginning.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  // 0 at the end.
  uint8_t Byte() { return rest_.empty() ? 0 : static_cast<uint8_t>(Take(1)[0]); }
  // Perhaps fewer.
  absl::string_view Take(size_t size) {
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // Up to the next `end`, which is left out; or all.
  absl::string_view Until(char end) {
    const absl::string_view taken = Take(rest_.find(end));
    Take(1);
    return taken;
  }
  // A length of two bytes, the lower one first, and so many bytes.
  absl::string_view Sized() {
    const size_t low = Byte();
    return Take(low + (size_t{Byte()} << 8));
  }
  absl::string_view Rest() { return Take(rest_.size()); }

 private:
  absl::string_view rest_;
};

}  // namespace lanista::fuzz

#endif  // LANISTA_TESTS_FUZZ_FUZZ_H_
