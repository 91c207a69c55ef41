#include "cli/tensor_part.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/version.h"

namespace obol::cli {
namespace {

#if OBOL_HAS_TORCH
const TensorPart* load() {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const fs::path object =
      program.parent_path().parent_path() / OBOL_LIBDIR / "obol" / "libobol_tensor.so";
  // Threads that wait for each other burn their cores for milliseconds before they sleep, which
  // halts them all where others want the cores too: a training step took four times as long.
  setenv("GOMP_SPINCOUNT", "10000", 0);
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(fmt::format("LibTorch must load for this command, but did not: {}", dlerror()));
  using Entry = const TensorPart* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kTensorPartSymbol));
  const TensorPart* part = entry == nullptr ? nullptr : entry();
  if (part == nullptr || std::strcmp(part->version, version()) != 0)
    throw Error(violation(object.string(),
                          fmt::format("from the same build as {}", program.string()),
                          "from another"));
  return part;
}
#endif

}  // namespace

const TensorPart* tensor_part() {
#if OBOL_HAS_TORCH
  static const TensorPart* const kPart = load();
  return kPart;
#else
  return nullptr;
#endif
}

const TensorPart& needed_tensor_part() {
  const TensorPart* part = tensor_part();
  if (part == nullptr)
    throw InvalidArgument("this command needs LibTorch, but this build has none");
  return *part;
}

}  // namespace obol::cli
