// A data race, for scripts/tsan.sh: a sanitizer that does not report this one would miss ours, too.
#include <thread>

int main() {
  int shared = 0;
  const auto count = [&shared] {
    for (int i = 0; i < 100000; ++i) ++shared;
  };
  std::thread other(count);
  count();
  other.join();
  return 0;
}
