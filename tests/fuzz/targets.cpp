#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <zlib.h>

#include "obol/base/error.h"
#include "obol/base/sha256.h"
#include "obol/base/tensor_file.h"
#include "obol/base/text.h"
#include "obol/data/csv.h"
#include "obol/data/declaration.h"
#include "obol/data/idx.h"
#include "obol/data/npy.h"
#include "obol/data/npz.h"
#include "obol/data/picture.h"
#include "obol/local/privatized.h"
#include "obol/model/blueprint.h"
#include "obol/privacy/ledger_testing.h"
#include "obol/recipe/recipe.h"
#include "obol/report/release.h"
#include "obol/run/checkpoint.h"
#if OBOL_HAS_FEDERATED
#include "tests/fuzz/federated_targets.h"
#endif

namespace obol::fuzz {
namespace {

using Input = std::span<const std::byte>;

constexpr data::ReadLimits kLimits{.max_bytes = std::uint64_t{4} << 20};

void read_idx(Input input) {
  const MemoryBytes bytes("fuzz", input);
  try {
    const data::Dataset images = data::read_idx_images(bytes, kLimits);
    data::check_consistent(images, "fuzz");
  } catch (const Error&) {  // it may be a file of labels
    data::read_idx_labels(bytes, kLimits);
  }
}

void read_npy(Input input) {
  const MemoryBytes bytes("fuzz", input);
  for (int wanted = 0; wanted < 3; ++wanted) {
    const auto stream = data::open_stream(bytes, kLimits);
    const data::NpyHeader header = data::read_npy_header(*stream);
    if (wanted == 0) data::read_npy_values<double>(*stream, header, kLimits);
    if (wanted == 1) data::read_npy_values<float>(*stream, header, kLimits);
    if (wanted == 2) data::read_npy_values<std::int32_t>(*stream, header, kLimits);
  }
}

// Numbers from 0 to 1. With the classes that are there, and with declared ones to which all others
// are mapped.
template <class Read>
void read_declared(const Read& read) {
  data::ReadOptions options{.declared = {.range = data::ValueRange{}}, .limits = kLimits};
  options.reading = data::Reading::kPrivate;
  options.declared.classes = 3;
  options.declared.outside = data::Outside::kMap;
  try {
    const data::Dataset data = read(options);
    data::check_consistent(data, "fuzz");
    if (data.num_classes() != 3) throw std::logic_error("records have changed what is declared");
  } catch (const Error&) {  // it may have no labels
  }
  options.reading = data::Reading::kOpen;
  options.declared.classes.reset();
  options.declared.outside.reset();
  data::check_consistent(read(options), "fuzz");
}

void read_npz(Input input) {
  for (const data::Split split :
       {data::Split::kValidation, data::Split::kTest, data::Split::kTrain}) {
    try {  // bytes, as they are
      const data::ReadOptions options{.split = split, .limits = kLimits};
      data::check_consistent(data::read_npz(MemoryBytes("fuzz", input), options), "fuzz");
    } catch (const InvalidArgument&) {  // other numbers need a range
    } catch (const DataError&) {        // most files have one split
      if (split == data::Split::kTrain) throw;
    }
  }
  read_declared([&](const data::ReadOptions& options) {
    return data::read_npz(MemoryBytes("fuzz", input), options);
  });
}

void read_declaration(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const data::Declaration declared = data::parse_declaration(text, "fuzz.toml");
  // What was accepted must survive being written and read again.
  if (data::parse_declaration(data::to_toml(declared), "again.toml") != declared)
    throw std::logic_error("a declaration changed on the way");
}

void read_privatized(Input input) {
  const local::Privatized data = local::read_privatized(MemoryBytes("fuzz", input), kLimits);
  if (data.count() < 1 || data.records.size() % static_cast<std::size_t>(data.count()) != 0)
    throw std::logic_error("privatised records do not fit their shape");
}

void read_picture(Input input) { data::decode(MemoryBytes("fuzz", input), kLimits); }

void read_csv(Input input) {
  read_declared([&](const data::ReadOptions& options) {
    return data::read_csv(MemoryBytes("fuzz", input), options);
  });
}

struct Options {
  double number = 1;
  std::int64_t whole = 2;
  std::string text = "a";
  bool flag = false;
  void describe(recipe::Fields& fields) {
    fields.number("number", number, recipe::positive(), "");
    fields.integer("whole", whole, recipe::between(0, 9), "");
    fields.text("text", text, {"a", "b"}, "");
    fields.flag("flag", flag, "");
  }
};

void read_toml(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  auto recipe = recipe::Recipe::parse(text, "fuzz.toml");
  recipe.read<recipe::Heading>("");
  recipe.read<Options>("section");
  recipe.finish();
  // What was accepted must survive being written and read again.
  auto again = recipe::Recipe::parse(recipe.resolved(), "again.toml");
  again.read<recipe::Heading>("");
  again.read<Options>("section");
  if (again.resolved() != recipe.resolved()) throw std::logic_error("a recipe changed on the way");
}

void read_ledger(Input input) {
  const privacy::LedgerRecord record = privacy::read_ledger(MemoryBytes("fuzz", input));
  if (!record.extends(record.head())) throw std::logic_error("a ledger does not extend its head");
  for (const privacy::Event& event : record.spent()) {
    privacy::check(event);
    if (privacy::count_of(event) < 1) throw std::logic_error("a ledger counts less than nothing");
  }
}

TensorFile checked_tensors(Input input, TensorSum sum = TensorSum::kInside) {
  TensorFile file(input, "fuzz", sum);
  // One content has one file.
  const std::string again = tensor_file(file.texts(), file.tensors(), sum);
  const auto bytes = std::as_bytes(std::span(again));
  if (!std::equal(bytes.begin(), bytes.end(), input.begin(), input.end()))
    throw std::logic_error("a file of tensors changed on the way");
  return file;
}

void read_tensors(Input input) {
  const TensorFile file = checked_tensors(input);
  for (const NamedTensor& tensor : file.tensors()) is_finite(tensor);
}

void read_generator(Input input) {
  const TensorFile file = checked_tensors(input);
  const model::Blueprint blueprint = model::read_blueprint(file);
  std::uint64_t bytes = 0;
  for (const NamedTensor& tensor : model::tensors_of(blueprint)) {
    std::uint64_t of_one = size_of(tensor.type);
    for (const std::int64_t size : tensor.shape) of_one *= static_cast<std::uint64_t>(size);
    bytes += of_one;
  }
  if (bytes > input.size()) throw std::logic_error("a network is larger than its file");
}

void read_teacher(Input input) {
  const TensorFile file = checked_tensors(input);
  const NamedTensor weights = model::weights_of(model::read_classifier_blueprint(file));
  std::uint64_t bytes = size_of(weights.type);
  for (const std::int64_t size : weights.shape) bytes *= static_cast<std::uint64_t>(size);
  if (bytes > input.size()) throw std::logic_error("a classifier is larger than its file");
}

// Sections are texts of their own, or tensors.
void read_checkpoint(Input input) {
  const run::Checkpoint checkpoint = run::read_checkpoint(MemoryBytes("fuzz", input));
  for (const auto& [name, bytes] : checkpoint.sections)
    if (bytes.size() > 64) checked_tensors(std::as_bytes(std::span(bytes)), TensorSum::kElsewhere);
}

// A release as one file: "NAME SIZE\n" and the content of each of its files.
using Folder = std::vector<std::pair<std::string, std::string>>;

Folder unpacked(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  Folder folder;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line(text.substr(at, end - at));
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto size = parse_integer(line.substr(std::min(space + 1, line.size())));
    at = std::min(end + 1, text.size());
    const std::size_t length =
        size && *size >= 0 ? std::min(static_cast<std::size_t>(*size), text.size() - at) : 0;
    folder.emplace_back(line.substr(0, space), text.substr(at, length));
    at += length;
  }
  return folder;
}

// On a file system in memory, where there is one.
Path place_for_releases() {
  const Path memory = "/dev/shm";
  std::error_code ignored;
  const Path parent = std::filesystem::is_directory(memory, ignored)
                          ? memory
                          : std::filesystem::temp_directory_path();
  std::string name = (parent / "obol-fuzz-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::logic_error("no place for releases");
  return name;
}

struct ReleasePlace {
  Path path = place_for_releases();
  ~ReleasePlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void read_release(Input input) {
  static const ReleasePlace kPlace;
  for (const auto& entry : std::filesystem::directory_iterator(kPlace.path))
    std::filesystem::remove_all(entry.path());
  for (const auto& [name, content] : unpacked(input)) {
    const bool is_file = !name.empty() && name.size() < 200 && name != "." && name != ".." &&
                         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (!is_file) continue;
    std::ofstream(kPlace.path / name, std::ios::binary) << content;
  }
  report::verify_release(kPlace.path, std::nullopt);
}

void keep(std::vector<std::byte>& /*file*/) {}

std::string_view as_text(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

void assign(std::vector<std::byte>& file, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  file.assign(bytes.begin(), bytes.end());
}

// The size of the header by where it seems to end, and the checksum.
std::string summed(std::string text) {
  constexpr std::size_t kDigits = 64;
  const std::string_view key = R"("sha256":")";
  if (const std::size_t end = text.find("}}"); end != std::string::npos && end > 8) {
    std::uint64_t size = end + 2 - 8;
    while (size % 8 != 0 && 8 + size < text.size() && text[8 + size] == ' ') ++size;
    std::memcpy(text.data(), &size, sizeof(size));
  }
  const std::size_t at = text.find(key);
  if (at == std::string::npos || at + key.size() + kDigits > text.size()) return text;
  text.replace(at + key.size(), kDigits, std::string(kDigits, '0'));
  Sha256 hash;
  hash.update(text);
  return text.replace(at + key.size(), kDigits, hash.hex());
}

void sum_tensors(std::vector<std::byte>& file) { assign(file, summed(std::string(as_text(file)))); }

void sum_checkpoint(std::vector<std::byte>& file) {
  constexpr std::size_t kHash = 32;
  if (file.size() < kHash) return;
  file.resize(file.size() - kHash);
  Sha256 hash;
  hash.update(file);
  const auto digest = hash.digest();
  file.insert(file.end(), digest.begin(), digest.end());
}

void sum_release(std::vector<std::byte>& file) {
  Folder folder = unpacked(file);
  std::string sums;
  for (auto& [name, content] : folder) {
    if (name == "generator.safetensors" || name == "teacher.safetensors") content = summed(content);
    Sha256 hash;
    hash.update(content);
    if (name != "SHA256SUMS") sums += hash.hex() + "  " + name + "\n";
  }
  std::string text;
  for (const auto& [name, content] : folder) {
    const std::string& now = name == "SHA256SUMS" ? sums : content;
    text += name + " " + std::to_string(now.size()) + "\n" + now;
  }
  assign(file, text);
}

void chain_ledger(std::vector<std::byte>& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string chained = privacy::chained(privacy::lines_of(text));
  const auto bytes = std::as_bytes(std::span(chained));
  file.assign(bytes.begin(), bytes.end());
}

// Every chunk of a PNG file ends in a checksum of its type and content.
void repair_png(std::vector<std::byte>& file) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kAround = 12;  // length, type, checksum
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(file[at + i]);
    return value;
  };
  for (std::size_t at = kSignature; at + kAround <= file.size();) {
    const std::size_t length = number(at);
    if (length > file.size() - at - kAround) return;
    const auto* content = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    const uLong sum = crc32_z(0, content, length + 4);
    for (std::size_t i = 0; i < 4; ++i)
      file[at + length + 8 + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    at += length + kAround;
  }
}

// Packs the file, so that what was mutated is what the packed file holds.
void wrap_gzip(std::vector<std::byte>& file) {
  z_stream zlib{};
  constexpr int kGzipBits = 15 + 16;
  deflateInit2(&zlib, 1, Z_DEFLATED, kGzipBits, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> packed(deflateBound(&zlib, file.size()));
  zlib.next_in = reinterpret_cast<Bytef*>(file.data());
  zlib.avail_in = static_cast<uInt>(file.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  deflate(&zlib, Z_FINISH);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  file = std::move(packed);
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = {
    {"idx", read_idx, wrap_gzip},
    {"npy", read_npy, wrap_gzip},
    {"npz", read_npz, keep},
    {"png", read_picture, repair_png},
    {"jpeg", read_picture, keep},
    {"csv", read_csv, wrap_gzip},
    {"toml", read_toml, keep},
    {"declaration", read_declaration, keep},
    {"ledger", read_ledger, chain_ledger},
    {"privatized", read_privatized, keep},
    {"tensors", read_tensors, sum_tensors},
    {"generator", read_generator, sum_tensors},
    {"teacher", read_teacher, sum_tensors},
    {"checkpoint", read_checkpoint, sum_checkpoint},
    {"release", read_release, sum_release},
#if OBOL_HAS_FEDERATED
    {"client", read_from_client, keep},
    {"question", read_question, keep},
    {"terms", read_terms, keep},
    {"live_server", send_to_server, keep},
    {"live_client", send_to_client, keep},
#endif
  };
  return kTargets;
}

bool accepts(const Target& target, Input input) {
  try {
    target.read(input);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace obol::fuzz
