#include "obol/app/account.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "obol/app/request.h"
#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/base/text.h"
#include "obol/data/fingerprint.h"
#include "obol/data/reader.h"
#include "obol/method/certificates.h"
#include "obol/method/methods.h"
#include "obol/privacy/certificate.h"
#include "obol/recipe/recipe.h"
#include "obol/run/folder.h"

namespace obol::app {
namespace {

namespace fs = std::filesystem;
using privacy::Guarantee;
using privacy::kLedgerName;
using privacy::LedgerRecord;
using privacy::Neighbours;
using privacy::Plan;
using privacy::PlannedEvent;
using privacy::Stage;
using privacy::stages_of;

Bill bill_of_recipe(const std::string& name, const AccountRequest& request) {
  auto recipe = recipe::Recipe::load(recipe::find(name), request.overrides);
  const auto heading = recipe.read<recipe::Heading>("");
  const Plan plan = method::plan_of(recipe, request.how);
  Bill bill{.title = heading.title.value_or(name),
            .items = plan.planned,
            .runs = {},
            .delta = plan.delta,
            .budget = std::nullopt,
            .published = plan.published,
            .released = plan.planned,
            .steps = plan.steps,
            .remarks = {},
            .neighbours = plan.neighbours};
  if (plan.budget) bill.budget = plan.budget->value();
  if (plan.calibrated) bill.remarks.push_back("calibrated: " + *plan.calibrated);
  if (plan.supposed)
    bill.remarks.push_back(fmt::format(
        "{}: epsilon {}", plan.supposed->assumption,
        rounded_up(privacy::account({plan.supposed->event}, plan.delta, request.how).epsilon)));
  return bill;
}

bool has_ledger(const Path& path) { return fs::exists(path / kLedgerName); }

// Runs below a folder, by name. What a killed process left under a hidden name is none, and a run
// without a ledger, which paid for nothing, is named in `remarks`.
std::vector<std::string> runs_below(const Path& folder, std::vector<std::string>& remarks) {
  std::vector<std::string> runs;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::end(at); ++at) {
    if (!at->is_directory()) continue;
    const bool is_trained = run::RunFolder::is_run(at->path());
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (has_ledger(at->path())) {
      runs.push_back(at->path().string());
      at.disable_recursion_pending();
    } else if (is_trained) {
      remarks.push_back(fmt::format("{}: trained without privacy; no number covers its release",
                                    at->path().string()));
    }
  }
  if (runs.empty())
    throw DataError(violation(folder.string(), "a run, or a folder with runs below it", "neither"));
  std::sort(runs.begin(), runs.end());
  return runs;
}

// Each once, however it was named.
std::vector<std::string> runs_of(const std::vector<std::string>& names,
                                 std::vector<std::string>& remarks) {
  std::vector<std::string> runs;
  std::vector<Path> places;
  for (const std::string& name : names) {
    if (!fs::is_directory(name))
      throw DataError(violation(name, fmt::format("a run, with a {}", kLedgerName), "none"));
    for (const std::string& run :
         has_ledger(name) ? std::vector<std::string>{name} : runs_below(name, remarks)) {
      const Path place = fs::weakly_canonical(run);
      if (std::find(places.begin(), places.end(), place) != places.end()) continue;
      places.push_back(place);
      runs.push_back(run);
    }
  }
  return runs;
}

Bill bill_of_runs(const std::vector<std::string>& given) {
  Bill bill{.title = join(given, " and ")};
  const std::vector<std::string> names = runs_of(given, bill.remarks);
  if (names.size() > 1) bill.runs = names;
  for (const std::string& name : names) {
    follow_no_links_below(name);
    const LedgerRecord ledger = privacy::read_ledger(Path(name) / kLedgerName);
    bill.neighbours = privacy::common_neighbours(bill.neighbours, ledger.header.neighbours);
    for (Stage& stage : stages_of(ledger)) {
      for (const PlannedEvent& release : stage.releases)
        bill.items.push_back({names.size() == 1 ? release.purpose : name, release.event});
      if (!stage.is_planned)
        bill.remarks.push_back(fmt::format(
            "{}: without a plan; when it stopped must not depend on what it released", name));
      bill.stages.push_back(std::move(stage));
    }
    if (ledger.torn)
      bill.remarks.push_back(fmt::format(
          "{}: the ledger's last {} bytes are torn; counted for them: {}", name, ledger.torn->bytes,
          ledger.torn->counted ? privacy::describe(*ledger.torn->counted) : "nothing"));
    if (ledger.header.randomness.starts_with(privacy::kNotPrivate))
      bill.remarks.push_back(fmt::format("{}: {}", name, ledger.header.randomness));
    if (!fs::exists(Path(name) / privacy::kCertificateName)) continue;
    const privacy::CertificateTerms terms = method::read_terms(name);
    bill.delta = std::max(bill.delta.value_or(terms.delta), terms.delta);
    bill.group_size = std::max(bill.group_size, terms.accounting.group_size);
    if (names.size() == 1 && terms.published) {
      bill.published = terms.published;
      bill.released = privacy::released_in(ledger);
    }
  }
  std::stable_sort(
      bill.stages.begin(), bill.stages.end(),
      [](const Stage& first, const Stage& second) { return first.time < second.time; });
  return bill;
}

Bill bill_of(const AccountRequest& request) {
  if (request.event) {
    privacy::check(*request.event);
    return {.title = "", .items = {{"", *request.event}}};
  }
  if (request.what.empty())
    throw InvalidArgument("a recipe or a run must be given to be accounted for, but none is");
  if (fs::is_directory(request.what.front()) || request.what.size() > 1)
    return bill_of_runs(request.what);
  return bill_of_recipe(request.what.front(), request);
}

void add_total(Account& found) {
  const Bill& bill = found.bill;
  Guarantee& guarantee = found.guarantee;
  guarantee = privacy::account(privacy::events_of(bill.items), found.delta, found.how);
  found.if_fixed = guarantee.epsilon;
  if (bill.stages.size() > 1)
    guarantee = privacy::account_stages(bill.stages, found.delta, found.how).total;
  guarantee.neighbours = privacy::common_neighbours(bill.neighbours, guarantee.neighbours);
  if (guarantee.neighbours == Neighbours::kAsStated) guarantee.neighbours = Neighbours::kAddRemove;
}

double cost_alone(const std::string& run, Delta delta, const privacy::Accounting& how) {
  const LedgerRecord ledger = privacy::read_ledger(Path(run) / kLedgerName);
  return privacy::account_stages(stages_of(ledger), delta, how).total.epsilon;
}

std::vector<RenyiPoint> curve_at(const std::vector<RenyiOrder>& orders,
                                 const std::vector<PlannedEvent>& items) {
  if (orders.empty()) return {};
  privacy::RdpAccountant accountant;
  for (const PlannedEvent& item : items) accountant.compose(item.event);
  std::vector<RenyiPoint> curve;
  for (const RenyiOrder& at : orders) curve.push_back({at.name, accountant.rdp(at.order)});
  return curve;
}

// Where nothing is released, nothing has to be recorded.
class Unheard final : public DisclosureLog {
 public:
  void record(std::string_view /*reason*/) override {}
};

}  // namespace

Account account(const AccountRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  constexpr std::int64_t kLargestGroup = 10000;
  AccountRequest given = request;
  const std::int64_t group = request.group_size.value_or(1);
  if (group < 1 || group > kLargestGroup)
    throw BadRequest("group_size", fmt::format("from 1 to {}", kLargestGroup), group);
  given.how.group_size = static_cast<int>(group);
  const Bill bill = bill_of(given);
  if (!request.group_size) given.how.group_size = bill.group_size;
  const std::optional<Delta> delta = request.delta ? request.delta : bill.delta;
  if (!delta) throw BadRequest("delta", "given", "missing");
  Account found{.bill = bill, .delta = *delta, .how = given.how, .guarantee = {}};
  add_total(found);
  if (bill.published && found.how.group_size == 1)
    found.published = privacy::account_as_published(*bill.published, bill.released, *delta);
  for (const std::string& run : bill.runs)
    found.alone.push_back({run, cost_alone(run, *delta, found.how)});
  found.curve = curve_at(request.orders, bill.items);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

DataCost account_data(const std::string& source, data::Split split) {
  const std::optional<privacy::Registry> registry = privacy::Registry::open();
  if (!registry) throw DataError("what data have cost must be kept on this machine, but is not");
  const Private<data::Dataset> records(data::read(source, {.split = split}));
  Unheard log;
  const std::vector<privacy::Use> uses =
      registry->uses(data::pixel_fingerprint(records, registry->key(), log));
  DataCost cost{.uses = {}, .totals = privacy::totals(uses)};
  for (const privacy::Use& use : uses)
    cost.uses.push_back({use, privacy::sum_of(privacy::costs_of(use.stages, Delta{use.delta}))});
  return cost;
}

}  // namespace obol::app
