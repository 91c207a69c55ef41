#include "obol/method/dp_sinkhorn/fit.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/data/fingerprint.h"

namespace obol::method::dp_sinkhorn {
namespace {

constexpr std::size_t kKeyWords = 4;
using KeyWords = std::array<std::uint64_t, kKeyWords>;
constexpr const char* kKeyName = "fingerprint.key";

// Keeps reasons until there is a folder for them.
class Collected final : public DisclosureLog {
 public:
  void record(std::string_view reason) override { reasons_.emplace_back(reason); }
  void pass_on(DisclosureLog& log) const {
    for (const std::string& reason : reasons_) log.record(reason);
  }

 private:
  std::vector<std::string> reasons_;
};

template <class T>
T needed(const std::optional<T>& value, const char* key) {
  if (!value) throw InvalidArgument(violation(fmt::format("privacy.{}", key), "given", "missing"));
  return *value;
}

// Secure, or, for experiments, the same again; another stream after each resumption.
std::unique_ptr<RandomBits> make_bits(const std::optional<std::int64_t>& seed,
                                      std::int64_t resumed_at) {
  if (!seed) return std::make_unique<SecureBits>();
  constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;
  return std::make_unique<SeededBits>(static_cast<std::uint64_t>(*seed) +
                                      kStride * static_cast<std::uint64_t>(resumed_at));
}

std::span<const std::byte> bytes_of(const KeyWords& key) { return std::as_bytes(std::span(key)); }

std::string text_of(const KeyWords& key) {
  const auto bytes = bytes_of(key);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Options options_of(const Experiment& experiment, const privacy::Plan* plan) {
  const privacy::PrivacyOptions& privacy = experiment.privacy;
  return {.method = experiment.method,
          .optimizer = experiment.optimizer,
          .generator = experiment.generator,
          .barrier = needed(privacy.barrier, "barrier"),
          .sampling_rate = needed(privacy.sampling_rate, "sampling_rate"),
          .noise_multiplier = plan != nullptr ? plan->noise_multiplier : 0,
          .generated_batch = needed(privacy.generated_batch, "generated_batch"),
          .steps = plan != nullptr ? plan->steps : needed(privacy.steps, "steps"),
          .histogram_noise = privacy.histogram_noise};
}

// The folder and, where something is to be paid for, its ledger.
struct Place {
  run::RunFolder folder;
  std::optional<privacy::Ledger> ledger;
};

Place new_place(const Experiment& experiment, const Private<data::Dataset>& data,
                const FitOptions& options, const privacy::Plan* plan) {
  if (plan == nullptr)
    return {run::RunFolder::create(options.folder, experiment.resolved, std::nullopt), {}};
  KeyWords key{};
  SecureBits().fill(key);
  Collected reasons;
  const privacy::LedgerHeader header{
      .neighbours = plan->neighbours,
      .records = data.facts().declared_size,
      .fingerprint = data::fingerprint(data, bytes_of(key), reasons),
      .randomness = make_bits(experiment.method.seed, 0)->provenance()};
  // The key comes with the folder: a run without it could not be gone on with.
  run::RunFolder folder = run::RunFolder::create(options.folder, experiment.resolved, header,
                                                 {{kKeyName, text_of(key)}});
  run::Disclosures disclosures(folder);
  reasons.pass_on(disclosures);
  return {folder, privacy::Ledger::open(folder.ledger(), header)};
}

// DataError unless the ledger is about this data.
Place old_place(const Experiment& experiment, const Private<data::Dataset>& data,
                const FitOptions& options, const privacy::Plan* plan) {
  run::RunFolder folder = run::RunFolder::resume(options.folder, experiment.resolved);
  if (plan == nullptr) return {folder, {}};
  privacy::LedgerHeader header = privacy::read_ledger(folder.ledger()).header;
  KeyWords key{};
  const FileBytes file(folder.make_private() / kKeyName);
  file.read_exactly(0, std::as_writable_bytes(std::span(key)), "the key of the fingerprint");
  run::Disclosures disclosures(folder);
  const std::string fingerprint = data::fingerprint(data, bytes_of(key), disclosures);
  if (fingerprint != header.fingerprint || data.facts().declared_size != header.records)
    throw DataError(fmt::format(
        "the data must be those that {} was started with, but their fingerprint is another",
        options.folder.string()));
  return {folder, privacy::Ledger::open(folder.ledger(), header)};
}

}  // namespace

run::Outcome fit(const Experiment& experiment, const Private<data::Dataset>& data,
                 const FitOptions& options) {
  std::optional<privacy::Plan> plan;
  if (experiment.privacy.barrier != "none")
    plan = recipe::located(experiment.places, "privacy",
                           [&] { return privacy::plan_of(experiment.privacy); });
  const privacy::Plan* price = plan ? &*plan : nullptr;
  const Options method_options =
      recipe::located(experiment.places, "privacy", [&] { return options_of(experiment, price); });
  check(method_options, data.facts(), experiment.places);
  if (plan && plan->calibrated) log_info("{}", *plan->calibrated);
  if (experiment.method.seed)
    torch::manual_seed(static_cast<std::uint64_t>(*experiment.method.seed));
  Place place = options.resume ? old_place(experiment, data, options, price)
                               : new_place(experiment, data, options, price);
  const std::unique_ptr<RandomBits> bits =
      make_bits(experiment.method.seed, place.ledger ? place.ledger->head().entries : 0);
  if (!experiment.method.seed) torch::manual_seed((*bits)());
  run::Steps steps = experiment.steps;
  steps.total = method_options.steps;
  if (!plan) {
    run::Disclosures disclosures(place.folder);
    DpSinkhorn method(method_options, data,
                      {.disclosures = &disclosures, .bits = *bits, .device = options.device});
    return run::train(method, place.folder, steps, nullptr, options.diagnostics);
  }
  std::optional<privacy::Budget> budget;
  if (plan->budget) budget = privacy::Budget{*plan->budget, plan->delta};
  privacy::BudgetGuard guard(*place.ledger, budget);
  barrier::Door door(guard, *bits);
  DpSinkhorn method(method_options, data, {.door = &door, .bits = *bits, .device = options.device});
  run::Payment payment{.ledger = *place.ledger,
                       .guard = guard,
                       .terms = {.delta = plan->delta, .published = plan->published},
                       .budget = plan->budget};
  return run::train(method, place.folder, steps, &payment, options.diagnostics);
}

}  // namespace obol::method::dp_sinkhorn
