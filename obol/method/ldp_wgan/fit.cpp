#include "obol/method/ldp_wgan/fit.h"

#include <memory>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/method/place.h"

namespace obol::method::ldp_wgan {
namespace {

// What was paid when the records were privatised is to be said again, once.
void note_price(privacy::Ledger& ledger, const local::Privatization& how) {
  if (!ledger.record().is_planned() && ledger.spent().empty()) ledger.plan(how.events);
  const std::size_t noted = ledger.record().entries.size();
  for (std::size_t k = noted; k < how.events.size(); ++k) {
    privacy::Reservation paid = ledger.reserve(how.events[k].purpose, how.events[k].event);
    paid.take(privacy::count_of(how.events[k].event));
    paid.settle();
  }
}

run::RunFolder folder_of(const Experiment& experiment, const privacy::LedgerHeader& header,
                         const FitOptions& options) {
  if (!options.resume) return run::RunFolder::create(options.folder, experiment.resolved, header);
  run::RunFolder folder = run::RunFolder::resume(options.folder, experiment.resolved);
  if (!(privacy::read_ledger(folder.ledger()).header == header))
    throw DataError(fmt::format(
        "the records must be those that {} was started with, but their fingerprint is another",
        options.folder.string()));
  return folder;
}

void tell(const MethodOptions& options, const local::Privatization& how) {
  if (!how.denoised.empty())
    log_info("the records were denoised ({}): a baseline, which is not matched to any noise",
             how.denoised);
  if (!options.regularization || options.loss != "entropic") return;
  const double right = matched(how.mechanism, how.scale).regularization;
  if (*options.regularization != right)
    log_warning(
        "method.regularization is {:.6g}, and {:.6g} is matched to the noise: an experiment",
        *options.regularization, right);
}

}  // namespace

run::Outcome fit(const Experiment& experiment, const local::Privatized& data,
                 const FitOptions& options) {
  const Options method_options{.method = experiment.method,
                               .optimizer = experiment.optimizer,
                               .generator = experiment.generator};
  check(method_options, data.how, data.count(), experiment.places);
  recipe::located(experiment.places, "privacy", [&] {
    if (experiment.privacy.barrier)
      throw InvalidArgument(
          violation("privacy.barrier", "left out: the records have their noise already", "given"));
  });
  tell(experiment.method, data.how);
  const privacy::LedgerHeader header{.neighbours = privacy::Neighbours::kPerson,
                                     .records = data.count(),
                                     .fingerprint = data.how.fingerprint,
                                     .randomness = data.how.randomness};
  const run::RunFolder folder = folder_of(experiment, header, options);
  privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), header);
  note_price(ledger, data.how);
  // A seed takes no privacy away here: it is the generator's alone.
  const std::unique_ptr<RandomBits> bits = make_bits(experiment.seed, 0);
  torch::manual_seed(experiment.seed ? static_cast<std::uint64_t>(*experiment.seed) : (*bits)());
  LdpWgan method(method_options, data, {.bits = *bits, .device = options.device});
  run::Steps steps = experiment.steps;
  steps.total = steps_of(experiment.method, data.count());
  privacy::BudgetGuard guard(ledger, std::nullopt);
  run::Payment payment{
      .ledger = ledger,
      .guard = guard,
      .terms = {.delta = Delta{data.how.delta}, .published = local::published_count(data.how)}};
  return run::train(method, folder, steps, &payment, options.diagnostics);
}

}  // namespace obol::method::ldp_wgan
