#include "obol/local/privatize.h"

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/base/random.h"
#include "obol/data/fingerprint.h"
#include "obol/local/published.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/registry.h"

namespace obol::local {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 19;

// Every block has bits of its own, so that a seed gives the same whatever the number of threads.
class BitsOfBlocks {
 public:
  explicit BitsOfBlocks(std::optional<std::uint64_t> seed) : seed_(seed) {}
  [[nodiscard]] std::unique_ptr<RandomBits> of(std::uint64_t block) const {
    if (!seed_) return std::make_unique<SecureBits>();
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    return std::make_unique<SeededBits>(*seed_ ^ (kGolden * (block + 1)));
  }
  [[nodiscard]] std::string provenance() const {
    return seed_ ? SeededBits(*seed_).provenance() : SecureBits().provenance();
  }

 private:
  std::optional<std::uint64_t> seed_;
};

std::vector<float> privatized(const data::Dataset& block, const Privatizer& privatizer,
                              RandomBits& bits) {
  const auto numbers = static_cast<std::size_t>(block.shape.pixels());
  return std::visit(
      [&](const auto& pixels) {
        const bool are_bytes = sizeof(pixels[0]) == 1;
        std::vector<float> out(pixels.size());
        std::vector<double> record(numbers);
        for (std::size_t start = 0; start < pixels.size(); start += numbers) {
          for (std::size_t i = 0; i < numbers; ++i)
            record[i] = static_cast<double>(pixels[start + i]) / (are_bytes ? 255.0 : 1.0);
          privatizer.project(record);
          privatizer.add_noise(bits, record);
          std::transform(record.begin(), record.end(),
                         out.begin() + static_cast<std::ptrdiff_t>(start),
                         [](double value) { return static_cast<float>(value); });
        }
        return out;
      },
      block.pixels);
}

// Reads and writes here, while others compute. What has noise is private still: it is written to a
// file that gets its name once the certificate is on disk.
void write_records(data::RecordStream& records, std::int64_t count, const Privatizer& privatizer,
                   const BitsOfBlocks& bits, PrivatizedWriter& writer,
                   data::PixelFingerprint* fingerprint) {
  const std::int64_t numbers = records.shape().pixels();
  const std::int64_t per_block = std::max<std::int64_t>(1, kBlockNumbers / numbers);
  constexpr unsigned kMostThreads = 16;  // more would wait for the one that writes
  const std::size_t at_once = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  struct Pending {
    std::int64_t records;
    std::future<Private<std::vector<float>>> numbers;
  };
  std::deque<Pending> pending;
  Progress progress("privatising", count);
  std::uint64_t next_block = 0;
  std::int64_t left = count;
  while (left > 0 || !pending.empty()) {
    check_interrupt();
    if (left > 0 && pending.size() <= at_once) {
      const std::int64_t now = std::min(left, per_block);
      Private<data::Dataset> block = records.next(now);
      left -= now;
      if (fingerprint != nullptr)
        block.use([&](const data::Dataset& open) { fingerprint->add(open); });
      pending.push_back({now, std::async(std::launch::async,
                                         [&, number = next_block++, block = std::move(block)] {
                                           return block.map([&](const data::Dataset& open) {
                                             return privatized(open, privatizer, *bits.of(number));
                                           });
                                         })});
      continue;
    }
    pending.front().numbers.get().use([&](const std::vector<float>& done) { writer.add(done); });
    progress.advance(pending.front().records);
    pending.pop_front();
  }
}

std::vector<std::int32_t> privatized_labels(const std::vector<std::int32_t>& labels,
                                            std::int64_t count, const Privatization& how,
                                            RandomBits& bits) {
  const auto& response = std::get<privacy::LocalRandomizedResponse>(how.events.at(1).event);
  std::vector<std::int32_t> answers(static_cast<std::size_t>(count));
  std::transform(labels.begin(), labels.begin() + count, answers.begin(),
                 [&](std::int32_t label) { return respond(bits, label, response); });
  return answers;
}

privacy::Certificate write_certificate_of(const Path& folder, const Privatization& how,
                                          std::int64_t count) {
  auto ledger = privacy::Ledger::create(folder / privacy::kLedgerName,
                                        {.neighbours = privacy::Neighbours::kPerson,
                                         .records = count,
                                         .fingerprint = how.fingerprint,
                                         .randomness = how.randomness});
  ledger.plan(how.events);
  for (const privacy::PlannedEvent& one : how.events) {
    auto paid = ledger.reserve(one.purpose, one.event);
    paid.take();
    paid.settle();
  }
  privacy::write_certificate(folder,
                             {.delta = Delta{how.delta}, .published = published_count(how)});
  return privacy::verify_certificate(folder, published_counts);
}

// What the data have cost on this machine, before this, and from now on.
void keep_use(const privacy::Registry& registry, const std::string& fingerprint, const Path& folder,
              const privacy::Certificate& certificate, const Privatization& how) {
  const std::string said = privacy::in_words(privacy::totals(registry.uses(fingerprint)));
  if (!said.empty()) log_info("{}", said);
  registry.record(fingerprint,
                  privacy::use_of(folder, certificate.ledger,
                                  privacy::stages_of(certificate.ledger), Delta{how.delta}));
}

void require_new(const Path& path) {
  if (fs::exists(path))
    throw DataError(violation(
        path.string(), "new (privatising again is another release of the same people)", "there"));
}

}  // namespace

Path certificate_folder_of(const Path& path) {
  return path.parent_path() / (path.stem().string() + "-certificate");
}

bool check_certificate(const Privatized& data, const Path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / privacy::kCertificateName, ignored)) return false;
  const privacy::Certificate certificate = privacy::verify_certificate(folder, published_counts);
  const privacy::LedgerRecord& ledger = certificate.ledger;
  const Privatization& how = data.how;
  const auto require = [&](bool is_so, std::string_view what) {
    if (!is_so)
      throw DataError(violation(fmt::format("the {} of the privatised records", what),
                                "what their certificate says", "something else", folder.string()));
  };
  require(fingerprint_of(data) == how.fingerprint && ledger.header.fingerprint == how.fingerprint,
          "fingerprint");
  require(ledger.header.records == data.count(), "number");
  require(ledger.header.randomness == how.randomness, "randomness");
  require(certificate.guarantee.delta == how.delta, "delta");
  const std::vector<privacy::PlannedEvent> released = privacy::released_in(ledger);
  const auto is_same = [](const privacy::PlannedEvent& a, const privacy::PlannedEvent& b) {
    return a.purpose == b.purpose && privacy::same_mechanism(a.event, b.event) &&
           privacy::count_of(a.event) == privacy::count_of(b.event);
  };
  require(
      std::equal(released.begin(), released.end(), how.events.begin(), how.events.end(), is_same),
      "events");
  return true;
}

PrivatizeOutcome privatize(data::RecordStream& records, const PrivatizeOptions& options,
                           const PrivatizeOutput& output) {
  if (output.count && *output.count < 1)
    throw InvalidArgument(violation("count", "at least 1", *output.count));
  const std::int64_t count = std::min(output.count.value_or(records.count()), records.count());
  std::optional<Private<data::Labels>> labels;
  if (options.label_epsilon) labels = records.labels();
  Privatization how =
      plan(options, records.shape(), labels ? labels->facts() : std::vector<std::string>{});
  const BitsOfBlocks bits(output.seed);
  how.randomness = bits.provenance();

  const Path folder = certificate_folder_of(output.path);
  require_new(output.path);
  require_new(folder);
  PrivatizedWriter writer(output.path, how.shape, count);
  std::optional<privacy::Registry> registry;
  if (!output.seed) registry = privacy::Registry::open();
  std::optional<data::PixelFingerprint> fingerprint;
  if (registry) fingerprint.emplace(registry->key(), how.shape);
  write_records(records, count, Privatizer(how), bits, writer,
                fingerprint ? &*fingerprint : nullptr);
  constexpr std::uint64_t kBlockOfLabels = ~std::uint64_t{0} - 1;
  if (labels)
    labels->use([&](const data::Labels& all) {
      writer.add_labels(privatized_labels(all.labels, count, how, *bits.of(kBlockOfLabels)));
    });
  how.fingerprint = writer.fingerprint();

  AtomicFolder certificate(folder);
  PrivatizeOutcome outcome{.how = how,
                           .records = count,
                           .certificate_folder = folder,
                           .certificate = write_certificate_of(certificate.inside(), how, count)};
  if (registry) keep_use(*registry, fingerprint->finish(), folder, outcome.certificate, how);
  // What was paid is on disk before what it paid for.
  certificate.commit();
  try {
    writer.commit(how);
  } catch (...) {
    // Where the records have their name already, and only synchronising failed, they are out.
    std::error_code error;
    if (!fs::exists(output.path, error) && !error) fs::remove_all(folder, error);
    throw;
  }
  return outcome;
}

}  // namespace obol::local
