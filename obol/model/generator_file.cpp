#include "obol/model/generator_file.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "obol/base/error.h"
#include "obol/model/blueprint.h"
#include "obol/model/tensors.h"

namespace obol::model {
namespace {

constexpr std::uint64_t kLargestGenerator = std::uint64_t{8} << 30;  // 8 GiB

bool is_zip(std::span<const std::byte> bytes) {
  constexpr std::string_view kZip = "PK\x03\x04";
  return bytes.size() >= kZip.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kZip.size()) == kZip;
}

}  // namespace

std::string generator_bytes(const Generator& generator) {
  TensorWriter writer;
  writer.add(generator);
  return writer.bytes(texts_of(Blueprint{.options = generator.options(),
                                         .shape = generator.shape(),
                                         .num_classes = generator.num_classes()}));
}

void save_generator(const Generator& generator, const Path& path) {
  write_file(path, generator_bytes(generator));
}

std::shared_ptr<Generator> load_generator(const Path& path) {
  const std::vector<std::byte> bytes = read_all(FileBytes(path), kLargestGenerator);
  if (is_zip(bytes))
    throw DataError(violation("a generator", "a file that Obol can read, generator.safetensors",
                              "TorchScript, which is a program and is not opened; "
                              "scripts/convert-generator takes the numbers out of it",
                              path.string()));
  TensorFile file(bytes, path.string());
  const Blueprint blueprint = read_blueprint(file);
  auto generator = make_generator(blueprint.options, blueprint.shape, blueprint.num_classes);
  TensorReader reader(std::move(file));
  reader.copy(*generator);
  reader.finish();
  generator->eval();
  return generator;
}

}  // namespace obol::model
