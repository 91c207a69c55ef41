// Writes event files for tests/run/tensorboard_test.py: write_events FOLDER PICTURE.png
#include <iostream>
#include <span>

#include "obol/base/file.h"
#include "obol/run/tensorboard.h"

namespace {

constexpr std::uint64_t kLimit = 1 << 20;

obol::run::Metric metric(const char* name, double value) {
  return {name, obol::run::Public(value, obol::run::Origin::kSyntheticOnly)};
}

// Two sessions: the second goes on after step 2.
void write(const obol::Path& folder, const obol::Path& picture) {
  const auto png = read_all(obol::FileBytes(picture), kLimit);
  obol::run::TensorBoard first(folder, 0);
  first.scalars(1, {metric("loss", 0.5), metric("größe", -1e30)});
  first.scalars(2, {metric("loss", 0.25)});
  first.picture(2, "samples", {.channels = 3, .height = 2, .width = 300}, png);
  first.scalars(3, {metric("loss", 99)});
  obol::run::TensorBoard second(folder, 2);
  second.scalars(3, {metric("loss", 0.125)});
  second.scalars(std::int64_t{1} << 40, {metric("loss", 0)});
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 3) {
    std::cerr << "usage: write_events FOLDER PICTURE.png\n";
    return 2;
  }
  try {
    write(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
