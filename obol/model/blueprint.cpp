#include "obol/model/blueprint.h"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::model {
namespace {

constexpr std::int64_t kMaxClasses = 1 << 16;
constexpr std::int64_t kMaxChannels = 1024;
constexpr const char* kKindKey = "kind";
constexpr const char* kGeneratorKind = "generator";
constexpr const char* kClassifierKind = "classifier";
constexpr std::int64_t kMaxSide = 64;
// What the classifier's numbers are weights of: there is one such map.
constexpr const char* kFeaturesKey = "features";
constexpr const char* kFeatures = "scattering of order 2, group-normalised, and 0.3";

// The limits that a recipe keeps, for options that came another way.
class Checker final : public recipe::Fields {
 public:
  using Fields::integer;
  using Fields::number;
  using Fields::text;
  void flag(std::string_view, bool&, std::string_view) override {}
  void integer(std::string_view key, std::optional<std::int64_t>& value,
               const recipe::Limits& limits, std::string_view) override {
    if (!limits.allow(static_cast<double>(*value)))
      throw InvalidArgument(violation(key, limits.words, *value));
  }
  void number(std::string_view, std::optional<double>&, const recipe::Limits&,
              std::string_view) override {}
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices& choices,
            std::string_view) override {
    for (const std::string& choice : choices)
      if (*value == choice) return;
    throw InvalidArgument(
        violation(key, fmt::format("one of {}", fmt::join(choices, ", ")), *value));
  }
};

// Options as texts under the names of a recipe.
class TextWriter final : public recipe::Fields {
 public:
  using Fields::integer;
  using Fields::number;
  using Fields::text;
  explicit TextWriter(TensorTexts& texts) : texts_(texts) {}
  void flag(std::string_view key, bool& value, std::string_view) override {
    texts_[std::string(key)] = value ? "true" : "false";
  }
  void integer(std::string_view key, std::optional<std::int64_t>& value, const recipe::Limits&,
               std::string_view) override {
    texts_[std::string(key)] = std::to_string(*value);
  }
  void number(std::string_view key, std::optional<double>& value, const recipe::Limits&,
              std::string_view) override {
    texts_[std::string(key)] = fmt::format("{}", *value);
  }
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices&,
            std::string_view) override {
    texts_[std::string(key)] = *value;
  }

 private:
  TensorTexts& texts_;
};

// Takes texts out one by one, so that what is left over is not understood.
class TextReader final : public recipe::Fields {
 public:
  using Fields::integer;
  using Fields::number;
  using Fields::text;
  // Of a `kind`, which is one of the texts.
  TextReader(TensorTexts texts, const char* kind) : texts_(std::move(texts)), kind_(kind) {
    if (const std::string found = take(kKindKey); found != kind)
      throw InvalidArgument(violation(kKindKey, kind, found));
  }
  void flag(std::string_view key, bool& value, std::string_view) override {
    const std::string found = take(key);
    if (found != "true" && found != "false")
      throw InvalidArgument(violation(key, "true or false", found));
    value = found == "true";
  }
  void integer(std::string_view key, std::optional<std::int64_t>& value, const recipe::Limits&,
               std::string_view) override {
    value = whole(key);
  }
  void number(std::string_view key, std::optional<double>& value, const recipe::Limits&,
              std::string_view) override {
    const std::string found = take(key);
    value = parse_number(found);
    if (!value) throw InvalidArgument(violation(key, "a number", found));
  }
  void text(std::string_view key, std::optional<std::string>& value, const recipe::Choices&,
            std::string_view) override {
    value = take(key);
  }

  std::int64_t whole(std::string_view key) {
    const std::string found = take(key);
    const auto value = parse_integer(found);
    if (!value) throw InvalidArgument(violation(key, "a whole number", found));
    return *value;
  }
  std::string take(std::string_view key) {
    auto found = texts_.extract(std::string(key));
    if (found.empty())
      throw InvalidArgument(violation(fmt::format("the text {}", key),
                                      fmt::format("in the file of a {}", kind_), "missing"));
    return std::move(found.mapped());
  }
  void finish() const {
    if (!texts_.empty())
      throw InvalidArgument(violation(fmt::format("the text {}", texts_.begin()->first),
                                      fmt::format("known of a {}", kind_), "not"));
  }

 private:
  TensorTexts texts_;
  const char* kind_;
};

// The names and shapes of the layers that the networks are made of.
class Layers {
 public:
  using Shape = std::vector<std::int64_t>;

  void add(std::string name, Shape shape, NumberType type = NumberType::kFloat32) {
    tensors_.push_back({.name = std::move(name), .type = type, .shape = std::move(shape)});
  }
  void statistics(const std::string& name, std::int64_t channels) {
    add(name + ".running_mean", {channels});
    add(name + ".running_var", {channels});
  }
  void scale_and_shift(const std::string& name, std::int64_t channels) {
    add(name + ".weight", {channels});
    add(name + ".bias", {channels});
  }
  void batch_norm(const std::string& name, std::int64_t channels, bool is_affine) {
    if (is_affine) scale_and_shift(name, channels);
    statistics(name, channels);
    add(name + ".num_batches_tracked", {}, NumberType::kInt64);
  }
  // kernel 0: linear.
  void spectral(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t kernel,
                bool with_bias = true) {
    add(name + ".weight", kernel == 0 ? Shape{out, in} : Shape{out, in, kernel, kernel});
    if (with_bias) add(name + ".bias", {out});
    add(name + ".left", {out});
    add(name + ".right", {kernel == 0 ? in : in * kernel * kernel});
  }
  void residual(const std::string& name, std::int64_t depth) {
    spectral(name + ".conv1", depth, depth, 3);
    spectral(name + ".conv2", depth, depth, 3);
    spectral(name + ".shortcut", depth, depth, 1);
  }
  [[nodiscard]] std::vector<NamedTensor> take() { return std::move(tensors_); }

 private:
  std::vector<NamedTensor> tensors_;
};

constexpr std::int64_t kFirstSide = 4;  // of the images that the first layer makes

void add_dcgan(Layers& layers, const Blueprint& of, std::int64_t inputs) {
  const std::int64_t width = of.options.width;
  const bool is_32 = of.shape.height == 32;
  const std::int64_t first = is_32 ? 4 : of.shape.height / 4;
  layers.add("conv1.weight", {inputs, 4 * width, first, first});
  layers.add("conv2.weight", {4 * width, 2 * width, 4, 4});
  layers.add("conv3.weight", {2 * width, width, 4, 4});
  for (const auto& [name, channels] : std::vector<std::pair<std::string, std::int64_t>>{
           {"norm1", 4 * width}, {"norm2", 2 * width}, {"norm3", width}}) {
    layers.scale_and_shift(name, channels);
    layers.statistics(name, channels);
  }
  const std::int64_t last = is_32 ? 4 : 3;
  layers.add("conv4.weight", {width, of.shape.channels, last, last});
  layers.add("conv4.bias", {of.shape.channels});
}

void add_biggan(Layers& layers, const Blueprint& of, std::int64_t embedding) {
  constexpr int kBlocks = 4;
  const std::int64_t depth = 4 * of.options.width;
  layers.spectral("first", of.options.latent, depth * kFirstSide * kFirstSide, 0);
  for (int k = 1; k <= kBlocks; ++k) {
    const std::string block = fmt::format("block{}", k);
    for (const char* norm : {".norm1", ".norm2"}) {
      layers.batch_norm(block + norm + ".norm", depth, embedding == 0);
      if (embedding == 0) continue;
      layers.spectral(block + norm + ".scale", embedding, depth, 0, false);
      layers.spectral(block + norm + ".shift", embedding, depth, 0, false);
    }
    layers.residual(block, depth);
  }
  layers.batch_norm("norm", depth, true);
  layers.spectral("last", depth, of.shape.channels, 3);
}

void add_resnet(Layers& layers, const Blueprint& of, std::int64_t inputs) {
  constexpr int kBlocks = 3;
  const std::int64_t depth = 4 * of.options.width;
  layers.spectral("first", inputs, depth * kFirstSide * kFirstSide, 0);
  for (int k = 1; k <= kBlocks; ++k) layers.residual(fmt::format("block{}", k), depth);
  layers.spectral("last", depth, of.shape.channels, 3);
}

void check_shape(const std::string& architecture, const data::ImageShape& shape) {
  const std::int64_t side = shape.height;
  const bool is_square = side == shape.width;
  std::string sizes = "32x32";
  bool fits = is_square && side == 32;
  if (architecture == "resnet") {
    sizes = "28x28 or 32x32";
    fits = is_square && (side == 28 || side == 32);
  } else if (architecture == "dcgan") {
    sizes = fmt::format("a square whose side is a multiple of 4 up to {}, such as 28x28 or 32x32",
                        kMaxSide);
    fits = is_square && side >= 4 && side <= kMaxSide && side % 4 == 0;
  }
  if (!fits)
    throw InvalidArgument(violation(fmt::format("the image size for a {} generator", architecture),
                                    sizes, data::to_string(shape)));
}

data::ImageShape shape_from(TextReader& reader) {
  return {.channels = reader.whole("image_channels"),
          .height = reader.whole("image_height"),
          .width = reader.whole("image_width")};
}

// What a generator's and a classifier's file both say.
TensorTexts common_texts(const char* kind, const data::ImageShape& shape, std::int64_t classes) {
  return {{kKindKey, kind},
          {"image_channels", std::to_string(shape.channels)},
          {"image_height", std::to_string(shape.height)},
          {"image_width", std::to_string(shape.width)},
          {"num_classes", std::to_string(classes)}};
}

Blueprint blueprint_from(const TensorTexts& texts) {
  TextReader reader(texts, kGeneratorKind);
  Blueprint blueprint;
  blueprint.options.describe_network(reader);
  blueprint.shape = shape_from(reader);
  blueprint.num_classes = reader.whole("num_classes");
  reader.finish();
  check(blueprint);
  return blueprint;
}

ClassifierBlueprint classifier_from(const TensorTexts& texts) {
  TextReader reader(texts, kClassifierKind);
  ClassifierBlueprint blueprint;
  blueprint.shape = shape_from(reader);
  blueprint.num_classes = reader.whole("num_classes");
  reader.number("gain", blueprint.gain, {}, "");
  if (const std::string features = reader.take(kFeaturesKey); features != kFeatures)
    throw InvalidArgument(violation(kFeaturesKey, kFeatures, features));
  reader.finish();
  check(blueprint);
  return blueprint;
}

void check_tensors(const TensorFile& file, const std::vector<NamedTensor>& expected) {
  for (const NamedTensor& tensor : expected) {
    const std::string what = "the tensor " + tensor.name;
    const NamedTensor* found = file.find(tensor.name);
    if (found == nullptr) throw DataError(violation(what, "in the file", "missing", file.where()));
    if (found->type != tensor.type || found->shape != tensor.shape)
      throw DataError(violation(what, in_words(tensor.type, tensor.shape),
                                in_words(found->type, found->shape), file.where()));
    if (!is_finite(*found)) throw DataError(violation(what, "finite", "not", file.where()));
  }
  if (file.tensors().size() != expected.size())
    throw DataError(violation("the number of tensors", fmt::format("{}", expected.size()),
                              file.tensors().size(), file.where()));
}

void check_channels(const data::ImageShape& shape) {
  if (shape.channels < 1 || shape.channels > kMaxChannels)
    throw InvalidArgument(violation("the number of channels",
                                    fmt::format("from 1 to {}", kMaxChannels), shape.channels));
}

// Runs `read` on an untrusted file: whatever it does not like, is wrong with the file.
template <class Read>
auto located(const TensorFile& file, const Read& read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} ({})", error.what(), file.where()));
  }
}

}  // namespace

void check(const Blueprint& blueprint) {
  GeneratorOptions checked = blueprint.options;
  Checker checker;
  checked.describe(checker);
  if (blueprint.num_classes < 0 || blueprint.num_classes > kMaxClasses)
    throw InvalidArgument(
        violation("num_classes", fmt::format("from 0 to {}", kMaxClasses), blueprint.num_classes));
  check_channels(blueprint.shape);
  check_shape(blueprint.options.architecture, blueprint.shape);
}

std::vector<NamedTensor> tensors_of(const Blueprint& blueprint) {
  const GeneratorOptions& options = blueprint.options;
  const std::int64_t embedding = blueprint.num_classes > 1 ? options.embedding : 0;
  Layers layers;
  if (embedding > 0) layers.add("label_embedding.weight", {blueprint.num_classes, embedding});
  if (options.architecture == "biggan")
    add_biggan(layers, blueprint, embedding);
  else if (options.architecture == "resnet")
    add_resnet(layers, blueprint, options.latent + embedding);
  else
    add_dcgan(layers, blueprint, options.latent + embedding);
  return layers.take();
}

TensorTexts texts_of(const Blueprint& blueprint) {
  TensorTexts texts = common_texts(kGeneratorKind, blueprint.shape, blueprint.num_classes);
  GeneratorOptions options = blueprint.options;
  TextWriter writer(texts);
  options.describe_network(writer);
  return texts;
}

Blueprint read_blueprint(const TensorFile& file) {
  return located(file, [&] {
    Blueprint blueprint = blueprint_from(file.texts());
    check_tensors(file, tensors_of(blueprint));
    return blueprint;
  });
}

std::int64_t ClassifierBlueprint::features() const {
  constexpr std::int64_t kChannels = 81;  // scattering of order 2 has so many for a colour
  constexpr std::int64_t kCell = 4;       // pixels, rounded up
  return shape.channels * kChannels * ((shape.height + kCell - 1) / kCell) *
             ((shape.width + kCell - 1) / kCell) +
         1;
}

void check(const ClassifierBlueprint& blueprint) {
  if (blueprint.num_classes < 2 || blueprint.num_classes > kMaxClasses)
    throw InvalidArgument(
        violation("num_classes", fmt::format("from 2 to {}", kMaxClasses), blueprint.num_classes));
  check_channels(blueprint.shape);
  for (const std::int64_t side : {blueprint.shape.height, blueprint.shape.width})
    if (side < 1 || side > kMaxSide)
      throw InvalidArgument(violation("the side of an image to classify",
                                      fmt::format("from 1 to {}", kMaxSide), side));
  if (!(blueprint.gain > 0) || !std::isfinite(blueprint.gain))
    throw InvalidArgument(violation("gain", "positive and finite", blueprint.gain));
}

NamedTensor weights_of(const ClassifierBlueprint& blueprint) {
  return {.name = "weights",
          .type = NumberType::kFloat64,
          .shape = {blueprint.num_classes, blueprint.features()}};
}

TensorTexts texts_of(const ClassifierBlueprint& blueprint) {
  TensorTexts texts = common_texts(kClassifierKind, blueprint.shape, blueprint.num_classes);
  texts["gain"] = fmt::format("{}", blueprint.gain);
  texts[kFeaturesKey] = kFeatures;
  return texts;
}

ClassifierBlueprint read_classifier_blueprint(const TensorFile& file) {
  return located(file, [&] {
    const ClassifierBlueprint blueprint = classifier_from(file.texts());
    check_tensors(file, {weights_of(blueprint)});
    return blueprint;
  });
}

}  // namespace obol::model
