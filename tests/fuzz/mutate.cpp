// mutate TARGET CORPUS COUNT [SEED]: feeds COUNT mutations of the files in CORPUS to a reader.
//
// Runs under the sanitizers. Reproducible: the same seed makes the same inputs; the input at hand
// is written to ./crash-TARGET when the process dies.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/base/text.h"
#include "tests/fuzz/targets.h"

namespace obol::fuzz {
namespace {

using File = std::vector<std::byte>;

File current;              // what a crash leaves behind
std::string current_name;  // "crash-png"

void keep_crash() {
  if (current.empty()) return;
  if (std::FILE* out = std::fopen(current_name.c_str(), "wb")) {
    std::fwrite(current.data(), 1, current.size(), out);
    std::fclose(out);
  }
}

class Mutator {
 public:
  Mutator(std::vector<File> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), bits_(seed) {}

  File next(const Target& target) {
    File file = pick();
    const std::uint64_t changes = 1 + bits_.below(6);
    for (std::uint64_t i = 0; i < changes; ++i) change(file);
    if (bits_.below(2) == 0) target.repair(file);
    return file;
  }

 private:
  const File& pick() { return seeds_[bits_.below(seeds_.size())]; }
  std::size_t place(const File& file) { return static_cast<std::size_t>(bits_.below(file.size())); }

  void change(File& file) {
    if (file.empty()) file.push_back(std::byte{0});
    switch (bits_.below(7)) {
      case 0:
        file[place(file)] ^= static_cast<std::byte>(1U << bits_.below(8));
        break;
      case 1:
        file[place(file)] = static_cast<std::byte>(bits_());
        break;
      case 2:
        overwrite_number(file);
        break;
      case 3:
        file.resize(place(file));
        break;
      case 4:
        remove_run(file);
        break;
      case 5:
        repeat_run(file);
        break;
      default:
        splice(file);
        break;
    }
  }

  // Lengths and dimensions are where readers go wrong.
  void overwrite_number(File& file) {
    constexpr std::array<std::uint64_t, 12> kAwkward = {0,
                                                        1,
                                                        0x7f,
                                                        0x80,
                                                        0xff,
                                                        0xffff,
                                                        0x7fffffff,
                                                        0x80000000,
                                                        0xffffffff,
                                                        0x100000000,
                                                        0x7fffffffffffffff,
                                                        0xffffffffffffffff};
    const std::uint64_t value = kAwkward[bits_.below(kAwkward.size())];
    const std::size_t width = std::size_t{1} << bits_.below(4);
    const std::size_t at = place(file);
    const bool is_big_endian = bits_.below(2) == 0;
    for (std::size_t i = 0; i < width && at + i < file.size(); ++i)
      file[at + i] = static_cast<std::byte>(value >> (8 * (is_big_endian ? width - 1 - i : i)));
  }

  void remove_run(File& file) {
    const std::size_t at = place(file);
    const std::size_t length = 1 + bits_.below(std::min<std::size_t>(64, file.size() - at));
    file.erase(file.begin() + static_cast<std::ptrdiff_t>(at),
               file.begin() + static_cast<std::ptrdiff_t>(at + length));
  }

  void repeat_run(File& file) {
    const std::size_t at = place(file);
    const std::size_t length = 1 + bits_.below(std::min<std::size_t>(64, file.size() - at));
    const File run(file.begin() + static_cast<std::ptrdiff_t>(at),
                   file.begin() + static_cast<std::ptrdiff_t>(at + length));
    for (std::uint64_t times = 1 + bits_.below(8); times > 0; --times)
      file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), run.begin(), run.end());
  }

  // The head of this file and the tail of another.
  void splice(File& file) {
    const File& other = pick();
    if (other.empty()) return;
    file.resize(place(file));
    file.insert(file.end(), other.begin() + static_cast<std::ptrdiff_t>(place(other)), other.end());
  }

  std::vector<File> seeds_;
  SeededBits bits_;
};

std::vector<File> read_corpus(const Path& folder) {
  std::vector<Path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<File> files;
  for (const Path& path : paths) files.push_back(read_all(FileBytes(path), std::uint64_t{1} << 20));
  return files;
}

int run(const std::string& name, const Path& corpus, std::int64_t count, std::uint64_t seed) {
  const auto target = std::find_if(targets().begin(), targets().end(),
                                   [&](const Target& t) { return t.name == name; });
  if (target == targets().end()) throw InvalidArgument(violation("the target", "known", name));
  const std::vector<File> seeds = read_corpus(corpus);
  current_name = "crash-" + name;
  for (const File& file : seeds)
    if (!accepts(*target, file)) throw Error("a file of the corpus must be accepted, but is not");
  Mutator mutator(seeds, seed);
  std::int64_t accepted = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    current = mutator.next(*target);
    if (accepts(*target, current)) ++accepted;
  }
  std::cout << fmt::format("{}: {} inputs from {} files, {} accepted, {} refused\n", name, count,
                           seeds.size(), accepted, count - accepted);
  // All refused would mean that the mutations never get past the first check.
  if (accepted == 0) throw Error("some mutations must be accepted, but none was");
  return 0;
}

}  // namespace
}  // namespace obol::fuzz

// The sanitizers' own function, there only when they are.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: mutate TARGET CORPUS COUNT [SEED]\n";
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(obol::fuzz::keep_crash);
  std::set_terminate([] {
    obol::fuzz::keep_crash();
    std::cout.flush();
    try {
      if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::exception& error) {
      std::cerr << "mutate: " << error.what() << '\n';
    }
    std::abort();
  });
  const auto number = [&](int i) { return obol::parse_integer(argv[i]).value_or(0); };
  return obol::fuzz::run(argv[1], argv[2], number(3),
                         argc > 4 ? static_cast<std::uint64_t>(number(4)) : 1);
}
