#include "obol/method/fit.h"

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/local/privatize.h"
#include "obol/method/ldp_wgan/entry.h"
#include "obol/method/ldp_wgan/method.h"

namespace obol::method::ldp_wgan {
namespace {

// Against what 'obol privatize' wrote beside the records.
bool is_certified(const Experiment& experiment, const local::Privatized& data) {
  if (!experiment.data.source) return false;
  const Path folder = local::certificate_folder_of(*experiment.data.source);
  if (local::check_certificate(data, folder)) return true;
  log_warning(
      "{} is not there: the run's certificate will say that what the records say of themselves was "
      "not checked",
      folder.string());
  return false;
}

// What was paid when the records were privatised is to be said again, once.
void note_price(privacy::Ledger& ledger, const local::Privatization& how, bool is_checked) {
  std::vector<privacy::PlannedEvent> releases = how.events;
  if (!is_checked)
    for (privacy::PlannedEvent& one : releases) one.purpose += privacy::kNotChecked;
  if (!ledger.record().is_planned() && ledger.spent().empty()) ledger.plan(releases);
  if (ledger.record().is_planned()) releases = ledger.record().plans.front().releases;
  for (std::size_t k = ledger.record().entries.size(); k < releases.size(); ++k) {
    privacy::Reservation paid = ledger.reserve(releases[k].purpose, releases[k].event);
    paid.take(privacy::count_of(releases[k].event));
    paid.settle();
  }
}

// Records that are marked as not private make a run that is none, whatever their noise was.
std::string randomness_of(const local::Privatization& how) {
  if (how.is_private() || how.randomness.starts_with(privacy::kNotPrivate)) return how.randomness;
  return fmt::format("{}: the records were changed by what was chosen on clean ones",
                     privacy::kNotPrivate);
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

run::Outcome Entry::fit(const Experiment& experiment, const Data& data, const FitOptions& options) {
  const Options method_options{.method = experiment.options<MethodOptions>(),
                               .optimizer = experiment.optimizer,
                               .generator = experiment.generator};
  check(method_options, data.how, data.count(), experiment.places);
  recipe::located(experiment.places, "privacy", [&] {
    if (experiment.privacy.barrier)
      throw InvalidArgument(
          violation("privacy.barrier", "left out: the records have their noise already", "given"));
  });
  tell(method_options.method, data.how);
  const privacy::LedgerHeader header{.neighbours = privacy::Neighbours::kPerson,
                                     .records = data.count(),
                                     .fingerprint = data.how.fingerprint,
                                     .randomness = randomness_of(data.how)};
  const bool is_checked = is_certified(experiment, data);
  OpenRun open{.place = {.folder = folder_of(experiment, header, options),
                         .bits = make_bits(experiment.method.seed, 0)},
               .terms = privacy::CertificateTerms{.delta = Delta{data.how.delta}}};
  privacy::Ledger& ledger =
      open.place.ledger.emplace(privacy::Ledger::open(open.place.folder.ledger(), header));
  note_price(ledger, data.how, is_checked);
  if (!ledger.record().entries.front().purpose.ends_with(privacy::kNotChecked))
    open.terms->published = local::published_count(data.how);
  return method::fit(experiment, open, options,
                     {.steps = steps_of(method_options.method, data.count()),
                      .make = [&](const MethodContext& context) -> std::unique_ptr<run::Method> {
                        return std::make_unique<LdpWgan>(method_options, data, context);
                      }});
}

}  // namespace obol::method::ldp_wgan
