#include "obol/run/checkpoint.h"

#include <array>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/sha256.h"
#include "obol/privacy/event_json.h"

namespace obol::run {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using privacy::StrictObject;

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kVersion = 2;  // 1 had sections that torch wrote
constexpr std::uint32_t kLargestHeader = std::uint32_t{1} << 20;
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kHashBytes = 32;
// Of what is in a checkpoint: computed from what passed a barrier, and from nothing else that is
// private.
constexpr const char* kMark = "releasable";

struct Preamble {
  std::array<char, 8> magic = {'O', 'B', 'O', 'L', 'C', 'K', 'P', 'T'};
  std::uint32_t version = kVersion;
  std::uint32_t header_bytes = 0;
};
static_assert(sizeof(Preamble) == 16);

template <class T>
std::span<std::byte> writable_bytes(T& of) {
  return std::as_writable_bytes(std::span(&of, 1));
}

std::string header_of(const Checkpoint& checkpoint) {
  ordered_json header = {{"step", checkpoint.step}, {"seconds", checkpoint.seconds},
                         {"mark", kMark},           {"recipe", checkpoint.recipe},
                         {"ledger", nullptr},       {"sections", json::array()}};
  if (checkpoint.ledger)
    header["ledger"] = {{"head", checkpoint.ledger->hash}, {"entries", checkpoint.ledger->entries}};
  for (const auto& [name, bytes] : checkpoint.sections)
    header["sections"].push_back({{"name", name}, {"bytes", bytes.size()}});
  return header.dump();
}

std::int64_t not_negative(StrictObject& object, const std::string& key) {
  const std::int64_t value = object.integer(key);
  if (value < 0) throw InvalidArgument(violation(key, "not negative", value));
  return value;
}

std::string hash_text(StrictObject& object, const std::string& key) {
  std::string text = object.text(key);
  if (text.size() != kHashDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw InvalidArgument(violation(key, "64 hexadecimal digits", privacy::json_of(text)));
  return text;
}

struct Header {
  Checkpoint checkpoint;  // without sections
  std::vector<std::pair<std::string, std::uint64_t>> sections;
};

Header parse_header(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  StrictObject object(value, "the header of a checkpoint");
  Header header;
  header.checkpoint.step = not_negative(object, "step");
  header.checkpoint.seconds = object.number("seconds");
  if (!(header.checkpoint.seconds >= 0))
    throw InvalidArgument(violation("seconds", "not negative", header.checkpoint.seconds));
  if (const std::string mark = object.text("mark"); mark != kMark)
    throw InvalidArgument(violation("mark", kMark, mark));
  header.checkpoint.recipe = hash_text(object, "recipe");
  if (const json& ledger = object.member("ledger"); !ledger.is_null()) {
    StrictObject head(ledger, "ledger");
    header.checkpoint.ledger = {.hash = hash_text(head, "head"),
                                .entries = not_negative(head, "entries")};
    head.finish();
  }
  const json& sections = object.member("sections");
  if (!sections.is_array())
    throw InvalidArgument(violation("sections", "a list", sections.type_name()));
  for (const json& one : sections) {
    StrictObject section(one, "a section");
    const std::string name = section.text("name");
    header.sections.emplace_back(name, not_negative(section, "bytes"));
    section.finish();
  }
  object.finish();
  return header;
}

// Everything that is read goes through here, and into the hash.
class Reader {
 public:
  explicit Reader(const Bytes& bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(Preamble) + kHashBytes)
      throw DataError(violation("the file", "a checkpoint of Obol",
                                fmt::format("only {} bytes long", bytes.size()), bytes.name()));
  }

  void read(std::span<std::byte> out, std::string_view what) {
    bytes_.read_exactly(offset_, out, what);
    hash_.update(out);
    offset_ += out.size();
  }
  std::string text(std::uint64_t size, std::string_view what) {
    if (size > left())
      refuse(what, fmt::format("at most {} bytes long", left()), size);  // before it is allocated
    std::string text(static_cast<std::size_t>(size), '\0');
    read(std::as_writable_bytes(std::span(text)), what);
    return text;
  }
  void finish() {
    if (left() != 0) refuse("a checkpoint", "at its end", fmt::format("{} bytes longer", left()));
    std::array<std::byte, kHashBytes> stored{};
    bytes_.read_exactly(offset_, stored, "the hash of a checkpoint");
    if (stored != hash_.digest())
      refuse("the hash of a checkpoint", "that of its content", "another; the file is damaged");
  }

  template <class Actual>
  [[noreturn]] void refuse(std::string_view what, std::string_view must, const Actual& is) const {
    throw DataError(violation(what, must, is, where()));
  }
  [[nodiscard]] std::string where() const {
    return fmt::format("{}, offset {}", bytes_.name(), offset_);
  }

 private:
  // Before the hash at the end.
  [[nodiscard]] std::uint64_t left() const { return bytes_.size() - kHashBytes - offset_; }

  const Bytes& bytes_;
  Sha256 hash_;
  std::uint64_t offset_ = 0;
};

Header read_header(Reader& reader) {
  Preamble preamble;
  reader.read(writable_bytes(preamble), "a checkpoint");
  if (preamble.magic != Preamble{}.magic)
    reader.refuse("the file", "a checkpoint of Obol", "something else");
  if (preamble.version == 1)
    reader.refuse("a checkpoint", fmt::format("of version {}", kVersion),
                  "of version 1: let the earlier Obol that wrote it finish the run, or begin a new "
                  "run");
  if (preamble.version != kVersion)
    reader.refuse("the version of a checkpoint", std::to_string(kVersion), preamble.version);
  if (preamble.header_bytes > kLargestHeader)
    reader.refuse("the header of a checkpoint", fmt::format("at most {} bytes", kLargestHeader),
                  preamble.header_bytes);
  try {
    return parse_header(reader.text(preamble.header_bytes, "the header of a checkpoint"));
  } catch (const InvalidArgument& error) {
    throw DataError(fmt::format("{} (in the header before {})", error.what(), reader.where()));
  }
}

}  // namespace

void write_checkpoint(const Path& path, const Checkpoint& checkpoint) {
  AtomicFile file(path);
  Sha256 hash;
  const auto put = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    file.write(bytes);
  };
  const std::string header = header_of(checkpoint);
  if (header.size() > kLargestHeader)
    throw InvalidArgument(violation("the header of a checkpoint",
                                    fmt::format("at most {} bytes", kLargestHeader),
                                    header.size()));
  const Preamble preamble{.header_bytes = static_cast<std::uint32_t>(header.size())};
  put(std::as_bytes(std::span(&preamble, 1)));
  put(std::as_bytes(std::span(header)));
  for (const auto& [name, bytes] : checkpoint.sections) put(std::as_bytes(std::span(bytes)));
  file.write(hash.digest());
  file.commit();
}

Checkpoint read_checkpoint(const Path& path) { return read_checkpoint(FileBytes(path)); }

Checkpoint read_checkpoint(const Bytes& bytes) {
  Reader reader(bytes);
  Header header = read_header(reader);
  Sections& sections = header.checkpoint.sections;
  for (const auto& [name, size] : header.sections) {
    const std::string what = fmt::format("section {}", privacy::json_of(name));
    if (!sections.emplace(name, reader.text(size, what)).second)
      reader.refuse(what, "there once", "there twice");
  }
  reader.finish();
  return std::move(header.checkpoint);
}

}  // namespace obol::run
